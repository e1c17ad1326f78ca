"""Columns are spelled once, with type, unit and meaning, and say in their names what they are measured in."""

import csv

import pytest

from gpd.tables import columns

UNITS = {"_s": "s", "_h": "h", "_mib": "MiB", "_per_day": ("1/d", "Gb/d"), "gigabases": "Gb", "per_gigabase": "s/Gb"}
ALL = [(table, column) for table, spelled in columns.TABLES.items() for column in spelled]


@pytest.mark.parametrize("table", columns.TABLES)
def test_a_table_has_a_column_once(table):
    assert len(set(columns.names(table))) == len(columns.names(table))


def test_a_unit_stands_in_the_name():
    for table, column in ALL:
        name = column.name
        for statistic in ("_mean", "_sd", "_se"):
            name = name.removesuffix(statistic)
        named = [unit for suffix, unit in UNITS.items() if name.endswith(suffix)]
        wrong = column.unit not in named[-1] if named else column.unit in {"s", "h", "MiB", "Gb"}
        assert not wrong, f"{table}.{column.name}: {column.unit}"


def test_every_row_says_which_run_and_every_point_which_point():
    keys = list(columns.OfRun.__struct_fields__)
    for table in ("jobs", "samples", "steps", "runs"):
        assert columns.names(table)[: len(keys)] == keys
    assert columns.names("configurations")[:6] == ["study", "pipeline", "mode", "binding", "n", "sku"]


def test_what_is_repeated_has_a_mean_and_its_errors():
    for name in ("genomes_per_day", "gigabases_per_day", "makespan_s", "cpu_utilisation", "cpu_s_per_gigabase"):
        assert name in columns.names("runs")
        assert {f"{name}_mean", f"{name}_sd", f"{name}_se"} <= set(columns.names("configurations"))


def test_no_meaning_is_left_of_a_column_that_is_gone():
    scaling = {f"scaling-{table}": spelled for table, spelled in columns.SCALING.items()}
    tables = {**columns.TABLES, **columns.DERIVED, **scaling}
    there = {(table, column.name) for table, spelled in tables.items() for column in spelled}
    with columns.MEANINGS.open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    meant = [(table, row["name"]) for row in rows for table in row["tables"].split()]
    assert len(set(meant)) == len(meant)
    assert not [(table, name) for table, name in meant if not {(table, name), (table, f"{name}_mean")} & there]
