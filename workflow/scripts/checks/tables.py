"""The configuration and the tables of samples and units, checked for what can be seen in them alone.

    tables.py [--directory FOLDER] [--pipeline NAME] CONFIG.yaml...

prints them as JSON, complete with their defaults: config, samples and units; or the errors, and exits with 1. Paths are
relative to the folder; a later file's keys go before an earlier's, as with Snakemake's --configfile.

inputs.py opens the files that they name. The workflow loads this file by its path, so it imports no sibling.
"""

import argparse
import copy
import difflib
import hashlib
import json
import os
import re
import shlex
import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import yaml
from jsonschema import Draft202012Validator, ValidationError, validators

Row = dict[str, Any]
Units = dict[str, dict[str, Row]]


@dataclass(frozen=True)
class Cohort:
    """What configuration and tables say, with all that is wrong in them."""

    config: dict  # complete with its defaults; empty where it is not valid
    samples: list[Row]
    units: Units  # by sample and name, in the tables' order
    errors: list[str]
    left_out: list[Row] = field(default_factory=list)  # samples that the configuration leaves out of the others
    addresses: dict[str, str] = field(default_factory=dict)  # by the file that `gpd fetch` makes of each


LARGEST = 10**15  # number
MERGE = "tag:yaml.org,2002:merge"  # `<<`
ADDRESS = re.compile(r"(?:https?|ftp|s3|gs)://")
FETCHED = "fetched"  # the folder of files that were named by their addresses
MOST_SHOWN = 200  # characters of a value in an error
MOST_HINTS = 20
LONGEST_LINE = 10_000
UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
ROLES = {"vqsr": ("training", "truth"), "vets": ("training", "calibration")}  # that a filter's sets must have
GIVEN = "the workflow gives this argument itself"
# arguments of bwa, of TopHat, and of GATK 4 and 3 that are refused, by the reason
REFUSED = {
    "map_and_sort": {GIVEN: "-t -K -R -p -o -f"},
    "trim": {
        GIVEN: """
            -i --in1 -I --in2 -o --out1 -O --out2 -z --compression -w --thread -j --json -h --html --stdin --stdout
            --interleaved_in""",
        "reads would be elsewhere than counted": """
            -m --merge --merged_out --include_unmerged --unpaired1 --unpaired2 --failed_out --overlapped_out
            -s --split -S --split_by_lines -d --split_prefix_digits --reads_to_process""",
    },
    "tophat2": {GIVEN: "-p --num-threads -o --output-dir -G --GTF -R --resume --library-type --no-novel-juncs"},
}
REFUSED_OF_GATK = {
    GIVEN: """
        -R --reference --reference_sequence -I --input --input_file -V --variant -O -o --output --out -T --analysis_type
        --tmp-dir -nt --num_threads -nct --num_cpu_threads_per_data_thread -ERC --emit-ref-confidence
        --emitRefConfidence --native-pair-hmm-threads --ploidy-regions -bqsr --bqsr-recal-file -BQSR --BQSR
        --known-sites -knownSites --knownSites -D --dbsnp --pcr-indel-model --pcr_indel_model --static-quantized-quals
        -SQQ --static_quantized_quals --dragen-mode --dragstr-params-path
        --targetIntervals -targetIntervals --read-index --sequence-dictionary
        --variant-output-filtering -OVI --create-output-variant-index -OBI --create-output-bam-index
        --disable_bam_indexing --variant_index_type --variant_index_parameter""",
    "the workflow divides the genome itself: name regions in intervals": """
        -L --intervals -XL --exclude-intervals --excludeIntervals -ip --interval-padding --interval_padding -ixp
        --interval-exclusion-padding -isr --interval-set-rule --interval_set_rule -imr --interval-merging-rule
        -im --interval_merging --max-variants-per-shard --only-output-calls-starting-in-intervals""",
    "all samples, and all parts of one, would write this one file": """
        -bamout --bam-output --bamOutput -graph --graph-output --graphOutput --assembly-region-out -APO
        --activity-profile-out --activityProfileOut -ARO --activeRegionOut --debug-assembly-variants-out
        --debug-assembly-region-state --debug-genotyper-output --haplotype-debug-histogram-output
        --pair-hmm-results-file --pdhmm-results-file --alm-path -log --log_to_file -plots --plot_pdf_file""",
    "what such a file holds is not looked at: name its arguments here": """
        --arguments_file -args --arg_file --gatk-config-file""",
}
# a value may follow a short name at once, as in -t8; GATK's longer names that begin so are of capitals, as -OVM
ATTACHED, ATTACHED_OF_GATK = re.compile("(-[A-Za-z])."), re.compile("(-[ILORVD])[^A-Z]")
TYPES = {"object": "keys and values", "array": "list", "boolean": "true or false", "null": "nothing"}

CHECKER = Draft202012Validator.TYPE_CHECKER.redefine_many(
    {
        "integer": lambda _, value: type(value) is int and abs(value) <= LARGEST,  # 2.0 is none, nor is true
        "number": lambda _, value: type(value) in (int, float) and abs(value) <= LARGEST,  # nor are .inf and .nan
    }
)
Validator = validators.extend(Draft202012Validator, type_checker=CHECKER)


def filler(preset: str, by_gvcf: bool) -> type:
    """A validator that sets defaults as it validates: those of the preset, where a key has one."""

    def default_of(part: dict) -> Any:
        usual = part.get("of_preset", {}).get(preset, part["default"])
        return part.get("of_preset_by_gvcf", {}).get(preset, usual) if by_gvcf else usual

    def fill(validator: Any, properties: dict, value: dict, schema: dict) -> Iterator[ValidationError]:
        for key, part in properties.items():
            if "default" in part:
                value.setdefault(key, copy.deepcopy(default_of(part)))
        yield from Draft202012Validator.VALIDATORS["properties"](validator, properties, value, schema)

    return validators.extend(Draft202012Validator, {"properties": fill})


class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # in C, where PyYAML has it: ten times as fast
    """PyYAML's, which of keys that are given twice takes the last one in silence; this one refuses them."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        lines: dict[tuple[str, str], int] = {}
        for key, _ in node.value:
            name, line = (key.tag, str(key.value)), key.start_mark.line + 1
            if name in lines and key.tag != MERGE:
                raise yaml.YAMLError(f"line {line}: {_shown(key.value)} is given twice, first in line {lines[name]}")
            lines[name] = line
        return super().construct_mapping(node, deep)


def load_schema(path: str | Path) -> dict:
    """The JSON Schema that the YAML file holds."""
    with Path(path).open(encoding="utf-8") as file:
        return yaml.load(file, Loader=Loader)


def read_cohort(config: dict, schemas: Mapping[str, str | Path], check: bool = True) -> Cohort:
    """Check a configuration and the tables it names; `schemas` has files for config, samples, units, thresholds.

    Without `check` rows are only read: a job's Snakemake need not do again, for all samples, what the run's has done.
    """
    schema = load_schema(schemas["config"])
    if errors := config_errors(config, schema):
        return Cohort({}, [], {}, errors)
    complete = with_defaults(config, schema)
    samples, samples_errors = read_table(complete["samples"], load_schema(schemas["samples"]), check)
    units, units_errors = read_table(complete["units"], load_schema(schemas["units"]), check)
    errors = threshold_errors(complete["qc"]["thresholds"], Path(schemas["thresholds"]))
    errors += samples_errors + units_errors + left_out_errors(complete["leave_out"], samples)
    there = samples and units
    left_out = [row for row in samples if row["sample_name"] in complete["leave_out"]]
    samples, units = (
        [row for row in rows if row["sample_name"] not in complete["leave_out"]] for rows in (samples, units)
    )
    complete, of_config = with_files(complete)
    units, of_units = with_files(units)
    addresses = of_config | of_units
    by_sample, mismatched = units_by_sample(samples, units, check) if there else ({}, [])
    errors += sex_errors(complete, samples) + mismatched
    return Cohort(complete, samples, by_sample, errors, left_out, addresses)


def one_line(error: str) -> str:
    """An error as it can be printed, whatever stands in the names that it tells."""
    return UNPRINTABLE.sub(lambda found: ascii(found[0])[1:-1], error[:LONGEST_LINE])


# --- configuration ---


def config_errors(config: dict, schema: dict) -> list[str]:
    """One line for each thing wrong with the configuration, sorted; what needs no file to be opened."""
    errors = sorted({line for error in Validator(schema).iter_errors(config) for line in _explain(error)})
    return [f"config: {line}" for line in errors or sorted(_contradictions(with_defaults(config, schema)))]


def with_defaults(config: dict, schema: dict) -> dict:
    """A copy of a valid configuration where missing keys, nested ones too, have their preset's or schema's default."""
    complete = json.loads(json.dumps(config))  # no two keys share a value any longer, as by an alias in YAML
    preset, by_gvcf = (complete.get(key, schema["properties"][key]["default"]) for key in ("preset", "gvcf"))
    deque(filler(preset, by_gvcf)(schema).iter_errors(complete), maxlen=0)
    return complete


def _explain(error: ValidationError) -> Iterator[str]:
    """The lines that say in plain words what a violation of the schema is."""
    place, limit, value = list(map(str, error.absolute_path)), error.validator_value, error.instance
    at = "".join([".".join(place), ": " if place else ""])
    match error.validator:
        case "additionalProperties":
            known = error.schema.get("properties", {})
            for key in set(value) - set(known):
                hint = _nearest(key, known) or f"; known are {', '.join(known)}"
                yield f"{'.'.join([*place, str(key)])}: unknown key{hint}"
        case "required":
            yield from (f"{'.'.join([*place, key])}: missing" for key in set(limit) - set(value))
        case "enum":
            yield f"{at}{_shown(value)} is not one of {', '.join(limit)}{_nearest(value, limit)}"
        case "type":
            kinds = [limit] if isinstance(limit, str) else limit
            expected = " or ".join(TYPES.get(kind, kind) for kind in kinds)
            yield f"{at}expected {expected}, got {'nothing' if value is None else _shown(value)}"
        case "pattern" | "not" | "oneOf":
            yield f"{at}{'' if isinstance(value, dict) else f'{_shown(value)}: '}{error.schema['errorMessage']}"
        case _:
            yield f"{at}{error.message}"


def _shown(value: Any) -> str:
    """A value as it was given, the beginning of a long one."""
    text = repr(value)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."


def _nearest(word: Any, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(str(word), known, n=1)
    return f"; did you mean {close[0]}?" if close else ""


def _contradictions(config: dict) -> Iterator[str]:
    """Lines about keys that are fine alone but not together."""
    for rule, arguments in config["extra"].items():
        yield from (f"extra.{rule}: {fault}" for fault in argument_faults(rule, arguments))
    if config["pipeline"] != "germline":
        return
    if config["bqsr"] != "none" and not config["known_sites"] + config["known_indels"]:
        yield (
            "known_sites: base quality recalibration needs at least one VCF in known_sites or known_indels; or set "
            "bqsr: none"
        )
    if config["quantize"] and config["bqsr"] == "none":
        yield "quantize: qualities that are not recalibrated are not rounded: leave it out, or bqsr: none"
    if config["reblock"] and config["gatk"] == "gatk3":
        yield "reblock: GATK 3 cannot make GVCFs smaller: set gatk: gatk4, or leave reblock out"
    if config["dragen_mode"] and config["gatk"] == "gatk3":
        yield "dragen_mode: GATK 3 has no DRAGEN mode: set gatk: gatk4, or dragen_mode: false"
    if not config["gvcf"]:
        yield from _without_gvcfs(config)
    if config["interval_padding"] and not config["intervals"]:
        yield "interval_padding: there are no intervals to extend: name them, or leave interval_padding out"
    if config["ploidy_regions"] and config["gatk"] == "gatk3":
        yield "ploidy_regions: GATK 3 knows no regions of other ploidy: set gatk: gatk4, or leave ploidy_regions out"
    if config["filter"] in ROLES:
        yield from _without_sets(config)
    if config["filter"] == "hard":
        for kind, filters in config["hard_filters"].items():
            if not filters:
                yield f"hard_filters.{kind}: filter hard needs at least one expression; or set filter: none"


def _without_sets(config: dict) -> Iterator[str]:
    """Lines about what the model of variants lacks."""
    name = config["filter"]
    if name == "vets" and config["gatk"] == "gatk3":
        yield "filter: GATK 3 has no VETS: set gatk: gatk4, or filter: vqsr"
    for kind, model in config[name].items():
        for role in ROLES[name]:
            if not any(resource[role] for resource in model["resources"].values()):
                yield f"{name}.{kind}.resources: filter {name} needs one with {role}: true; or set filter: hard"


def _without_gvcfs(config: dict) -> Iterator[str]:
    """Lines about keys for which a sample needs a GVCF."""
    if config["calling"] == "joint":
        yield "gvcf: joint calling needs GVCFs: leave gvcf: false out, or set calling: per_sample"
    if config["reblock"]:
        yield "reblock: with gvcf: false there is no GVCF to make smaller: leave one of them out"
    if config["gatk"] == "gatk3":
        yield "gvcf: GATK 3 runs as published, by way of GVCFs: set gatk: gatk4, or leave gvcf: false out"


def threshold_errors(given: Iterable[str], path: Path) -> list[str]:
    """Figures that nothing is judged by; the file's first column has those that are."""
    _, *lines = path.read_text(encoding="utf-8").splitlines()
    known = list(dict.fromkeys(line.partition("\t")[0] for line in lines))
    hints = {name: _nearest(name, known) or f"; known are {', '.join(known)}" for name in given if name not in known}
    return [f"config: qc.thresholds.{name}: no figure that is judged{hint}" for name, hint in hints.items()]


def argument_faults(rule: str, arguments: str) -> Iterator[str]:
    """What keeps a rule's further arguments from being given to its tool."""
    try:
        words = shlex.split(arguments)
    except ValueError as error:  # a quote or an escape without its end
        yield f"{_shown(arguments)}: {str(error).lower()}"
        return
    refused, attached = REFUSED.get(rule, REFUSED_OF_GATK), ATTACHED if rule in REFUSED else ATTACHED_OF_GATK
    for word in words:
        name = match[1] if (match := attached.match(word)) else re.split("[=:]", word, maxsplit=1)[0]
        yield from (f"{word}: {reason}" for reason, names in refused.items() if name in names.split())


# --- addresses ---


def with_files(values: Any) -> tuple[Any, dict[str, str]]:
    """A configuration or rows with files in place of addresses; and the addresses by file.

    The image of containers stays an address, which Snakemake itself fetches.
    """
    found: dict[str, str] = {}

    def replaced(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: each if key == "container" else replaced(each) for key, each in value.items()}
        if isinstance(value, list):
            return [replaced(each) for each in value]
        if isinstance(value, str) and ADDRESS.match(value):
            found[file := file_of(value)] = value
            return file
        return value

    return replaced(values), found


def file_of(address: str) -> str:
    """Where the file of an address lies once it is fetched: by server or bucket, what is asked of it, and path."""
    parts = urlsplit(address)
    asked = hashlib.blake2b(parts.query.encode(), digest_size=4).hexdigest() if parts.query else ""
    names = [parts.netloc.rpartition("@")[2], asked, *unquote(parts.path).split("/")]
    # without what would lead out of the folder, and what no path of ours may hold
    return "/".join([FETCHED, *(re.sub(r"[\x00-\x1f\x7f-\x9f{}:]", "_", name) for name in names if name.strip("."))])


# --- tables ---


def read_table(path: str | Path, schema: dict, check: bool = True) -> tuple[list[Row], list[str]]:
    """The rows of a tab-separated table whose row the schema describes, and what is wrong with it.

    Without `check` rows are not held against the schema. A row has a string for each column of the schema, its table's
    name and its line. Columns of fixed choices may be in any case.
    """
    table = Path(path).name
    try:
        text = Path(path).read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError:
        return [], [f"{table}: {path} is not a text file in UTF-8"]
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        return [], [f"{table}: {path} {'does not exist' if missing else f'cannot be read: {error.strerror}'}"]
    lines = [(number, line.split("\t")) for number, line in enumerate(text, 1) if line.strip() and line[0] != "#"]
    if not lines:
        return [], [f"{table}: {path} is empty: a header line is expected"]
    (number, header), *body = lines
    header = [name.strip() for name in header]
    validator = Validator(schema)
    if errors := _header_errors(header, validator):
        return [], [f"{table} line {number}: {error}" for error in errors]
    if not body:
        return [], [f"{table}: no rows below the header"]
    rows, columns = [], schema["properties"]
    for number, fields in body:
        if len(fields) != len(header):
            errors.append(f"{table} line {number}: {len(fields)} fields, but the header has {len(header)} columns")
            continue
        cells = {name: cell for name, cell in zip(header, map(str.strip, fields), strict=True) if cell}
        given = {name: cell.upper() if "enum" in columns[name] else cell for name, cell in cells.items()}
        rows.append(dict.fromkeys(columns, "") | given | {"table": table, "line": number})
        wrong = sorted(line for error in validator.iter_errors(given) for line in _explain(error)) if check else []
        errors += [f"{table} line {number}: {error}" for error in wrong]
    return rows, errors


def _header_errors(header: list[str], validator: Any) -> list[str]:
    if len(header) == 1 and header[0] not in validator.schema["properties"]:
        return [f"no tabs in the header {_shown(header[0])}: separate columns by tabs, not by commas or spaces"]
    twice = [f"column {name} occurs {times} times" for name, times in Counter(header).items() if times > 1]
    of_names = {"required", "additionalProperties"}
    wrong = [error for error in validator.iter_errors(dict.fromkeys(header, "")) if error.validator in of_names]
    return [f"column {line}" for error in wrong for line in _explain(error)] + twice


def where(row: Row) -> str:
    return f"{row['table']} line {row['line']}: sample {row['sample_name']}"


def left_out_errors(names: Sequence[str], samples: list[Row]) -> list[str]:
    """Names to leave out that are no samples', and whether they are all there are."""
    known = {row["sample_name"] for row in samples}
    if known and known <= set(names):
        return ["config: leave_out: names every sample: nothing is left to run"]
    unknown = [name for name in names if known and name not in known]
    return [f"config: leave_out: {name} is not in the table of samples{_nearest(name, known)}" for name in unknown]


def sex_errors(config: dict, samples: list[Row]) -> list[str]:
    """Samples for which the configuration, where it has a file of ploidies a sex, has none."""
    files = config["ploidy_regions"]
    if config["pipeline"] != "germline" or not isinstance(files, dict) or not files:
        return []
    named = f"ploidy_regions names {', '.join(files)}"
    return [
        f"{where(row)}: sex {row['sex']!r} has no ploidy_regions{_nearest(row['sex'], files) or f'; {named}'}"
        if row["sex"]
        else f"{where(row)}: has no sex, by which {named}: give one in the column sex"
        for row in samples
        if row["sex"] not in files
    ]


def units_by_sample(samples: list[Row], units: list[Row], check: bool = True) -> tuple[Units, list[str]]:
    """Each sample's units by name, in the tables' order; with `check` what is wrong between rows of the two tables."""
    table: Units = {row["sample_name"]: {} for row in samples}
    errors = _repeated(samples, ("sample_name",))
    for row in units:
        if row["sample_name"] in table:
            table[row["sample_name"]].setdefault(row["unit_name"], row)
        else:
            hint = _nearest(row["sample_name"], table) if len(errors) < MOST_HINTS else ""
            errors.append(f"{where(row)}: is not in the table of samples{hint}")
    if not check:
        return table, errors
    errors += [f"{where(row)}: has no units" for row in samples if not table[row["sample_name"]]]
    errors += _repeated(units, ("sample_name", "unit_name"))
    return table, errors + _shared_files(units)


def _repeated(rows: list[Row], columns: tuple[str, ...]) -> list[str]:
    """Rows whose names occurred before."""
    first: dict[tuple[str, ...], Row] = {}
    errors = []
    for row in rows:
        earlier = first.setdefault(tuple(row[column] for column in columns), row)
        if earlier is not row:
            unit = f"unit {row['unit_name']}: " if len(columns) > 1 else ""
            errors.append(f"{where(row)}: {unit}occurs twice, first in line {earlier['line']}")
    return errors


def _shared_files(units: list[Row]) -> list[str]:
    """Files that are named twice, under whatever spelling of their path."""
    first: dict[Path, tuple[Row, str]] = {}
    errors = []
    for row in units:
        for column in ("fq1", "fq2", "bam"):
            if not row[column] or "\0" in row[column]:  # which is no path, and named as that
                continue
            earlier, its_column = first.setdefault(Path(row[column]).resolve(), (row, column))
            if (earlier, its_column) != (row, column):
                errors.append(f"{where(row)}: {column} {row[column]} is also {its_column} in line {earlier['line']}")
    return errors


# --- the command line ---

WORKFLOW = Path(__file__).resolve().parents[2]
SCHEMAS = {name: WORKFLOW / f"schemas/{name}.schema.yaml" for name in ("config", "samples", "units")}
SCHEMAS["thresholds"] = WORKFLOW / "scripts/quality/thresholds.tsv"


def read_config(path: str | Path) -> tuple[dict, list[str]]:
    """What a file of the configuration holds, and what is wrong with it as YAML."""
    try:
        config = yaml.load(Path(path).read_text(encoding="utf-8"), Loader=Loader)
    except OSError as error:
        return {}, [f"config: {path}: {error.strerror}"]
    except (yaml.YAMLError, LookupError, AttributeError, ValueError) as error:  # as of a 31st of February, `!!int x`
        return {}, [f"config: {path}: {' '.join(str(error).split())}"]
    return (config, []) if isinstance(config, dict) else ({}, [f"config: {path}: not a list of keys and values"])


def read_errors(paths: Iterable[str | Path]) -> list[str]:
    """What is wrong with files of the configuration that Snakemake has read, as a key that is given twice."""
    plain = [path for path in paths if Path(path).is_file() and Path(path).suffix != ".json"]
    return [error for path in plain for error in read_config(path)[1]]


def merge(config: dict, later: dict) -> dict:
    """A configuration with the keys of a later one in place of its own, nested ones one by one."""
    nested = {
        key: merge(config[key], value)
        for key, value in later.items()
        if isinstance(value, dict) and isinstance(config.get(key), dict)
    }
    return config | later | nested


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--directory", type=Path, default=Path())
    parser.add_argument("--pipeline", help="in place of the configuration's own")
    parser.add_argument("configs", metavar="CONFIG", nargs="+")
    given = parser.parse_args(argv)
    try:
        os.chdir(given.directory)
    except OSError as error:
        print(f"{given.directory}: {error.strerror}", file=sys.stderr)
        return 1
    config, errors = {}, []
    for path in given.configs:
        part, wrong = read_config(path)
        config, errors = merge(config, part), errors + wrong
    if given.pipeline:
        config["pipeline"] = given.pipeline
    if not errors:
        cohort = read_cohort(config, SCHEMAS)
        errors = cohort.errors
    if errors:
        print(*map(one_line, errors), sep="\n", file=sys.stderr)
        return 1
    units = [row for rows in cohort.units.values() for row in rows.values()]
    for row in [*cohort.samples, *units]:
        del row["table"], row["line"]
    found = {"config": cohort.config, "samples": cohort.samples, "units": units, "addresses": cohort.addresses}
    json.dump(found, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
