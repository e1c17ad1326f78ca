# How GATK 3 is started, included where the config's gatk or realigner is gatk3.
import os

from snakemake.settings.types import DeploymentMethod

gatk3_java = load(source("germline/gatk3_java.py"))


jar, by_conda = config["gatk3_jar"], DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method
called_of_gatk3 = gatk3_java.walkers(config)


def refused_jar(reason):
    """The line of an error."""
    return f"config: gatk3_jar{jar and f' {jar}'}: {reason}"


if workflow.is_main_process and (reason := gatk3_java.jar_fault(jar, os.environ, called_of_gatk3, by_conda)):
    sys.exit(refused_jar(reason))


@functools.cache
def java8():
    """The Java that starts the jar, and why there is none; rules are read without it."""
    return gatk3_java.java_for_jar(config["gatk3_java"], os.environ, by_conda)


def gatk3_fault():
    """A line if GATK 3 does not start here, which is seen before the first job, not after all mapping."""
    reason = java8()[1] if jar else gatk3_java.command_fault(os.environ, called_of_gatk3)
    return [refused_jar(reason)] if reason else []


start_checks.append(gatk3_fault)


def gatk3(wildcards, threads, resources):
    """GATK 3 up to its walker: the jar that the config names, or a wrapper as conda's, which takes JVM options itself.

    Its JVM compiles as it comes, for no other way was measured.
    """
    options = f'{memory_options(threads, resources)} -Djava.io.tmpdir="$TMPDIR"'
    return f"{shlex.quote(java8()[0] or 'java')} {options} -jar {shlex.quote(jar)}" if jar else f"gatk3 {options}"


# parameters of every rule here; another jar makes other results
GATK3 = dict(gatk3=gatk3, gatk3_jar=jar)
