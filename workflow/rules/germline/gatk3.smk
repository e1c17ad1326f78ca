# How GATK 3 is started, included where the config's gatk or realigner is gatk3.
import os

from snakemake.settings.types import DeploymentMethod

gatk3_java = load(source("germline/gatk3_java.py"))


jar, by_conda = config["gatk3_jar"], DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method
# What does not start is refused before any job, not after all mapping.
tried = gatk3_java.walkers(config) if workflow.is_main_process else []
java8, reason = gatk3_java.start(jar, config["gatk3_java"], os.environ, tried, by_conda)
if reason:
    sys.exit(f"config: gatk3_jar{jar and f' {jar}'}: {reason}")


def gatk3(wildcards, threads, resources):
    """GATK 3 up to its walker: the jar that the config names, or a wrapper as conda's, which takes JVM options itself.

    Its JVM compiles as it comes, for no other way was measured.
    """
    options = f'{memory_options(threads, resources)} -Djava.io.tmpdir="$TMPDIR"'
    return f"{shlex.quote(java8)} {options} -jar {shlex.quote(jar)}" if jar else f"gatk3 {options}"


# parameters of every rule here; another jar makes other results
GATK3 = dict(gatk3=gatk3, gatk3_jar=jar)
