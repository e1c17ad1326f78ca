# What tells Snakemake that a job would read other files of the user, or use other scripts of ours, than the one before.
import re

# These look whether reads are whole and of this genome, or say where a job runs: no result is another for what they become.
ONLY_LOOK = {f"GPD_{name}" for name in "LAUNCH READS SAME_GENOME MAPPING_RATES BLOCKS EXPRESSION".split()}
OTHER_FILES, OTHER_SCRIPTS = "other files: ", "other scripts: "  # how the parameters begin
# Snakemake does not note a value of this kind: what was made before there were these parameters stays current.
AS_BEFORE = Path()


def leaves(found):
    """The paths that an input function returned."""
    if isinstance(found, str):
        return [found]
    return [path for part in (found.values() if isinstance(found, dict) else found) for path in leaves(part)]


def other_files(rule):
    """A parameter with the user's files that a job reads, where they are others than runs in this folder saw first."""
    items = [getattr(item, "callable", item) for item in rule.input]  # unpack() keeps its function so
    fixed = [str(item) for item in items if not callable(item) and not item.startswith(place("results/"))]
    functions = [*filter(callable, items)]

    def others(wildcards):
        found = [path for function in functions for path in leaves(function(wildcards))]
        own = [*fixed, *(place(path) for path in found if not path.startswith("results/"))]
        named = seen_files.others(own) if seen_files else ""
        return f"{OTHER_FILES}{named}" if named else AS_BEFORE

    return dict(other_files=others) if items else {}


def other_scripts(rule):
    """A parameter with the digests of the scripts that make a rule's outputs, where they are others than at first."""
    text = rule.shellcmd or ""
    names = set(re.findall(r"\$(GPD_\w+)", text)) | ({"GPD_CLIP"} if " --clip " in text else set())  # by the launcher
    scripts = [environment[name] for name in sorted(names - ONLY_LOOK) if isinstance(environment.get(name), Path)]
    digests = [*filter(None, map(script_digest, scripts))] if workflow.is_main_process else []
    return dict(other_scripts=f"{OTHER_SCRIPTS}{' '.join(digests)}") if digests else {}


script_digest = functools.cache(made_of.script_digest)
