# What tells Snakemake that a job would read other files of the user than the one before.
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
