"""The report of recorded and of changed studies: what it says, and what must never be missing from it."""

import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path
from statistics import fmean
from xml.etree import ElementTree

import pytest
import recorded_studies
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct, structs
from packing import write_study
from pages import Page, row, text_of

from gpd.comparison.agreement import Disagreement
from gpd.comparison.results import curves_of, study_side
from gpd.pipelines import PIPELINES
from gpd.records.host import Load
from gpd.records.run_spec import CurveKey
from gpd.reports import looks, report, study_figures
from gpd.reports.grids import step_numbers
from gpd.reports.page import HTML
from gpd.reports.report import find
from gpd.statistics.estimates import Estimate, estimate
from gpd.tables import collect
from gpd.text import formats
from gpd.text.cpu_lists import parse_cpus

pytestmark = pytest.mark.usefixtures("drawn_once")

GOLDEN = recorded_studies.study()
SVG = "{http://www.w3.org/2000/svg}"
SHARED = "germline-n2-shared-compact-r1"
NASTY = "<script>alert(1)</script> a | b `c` **d** [e](f) &lt; $x$\nsecond line"


@pytest.fixture(scope="module")
def golden() -> collect.Tables:
    return collect.collect(GOLDEN)


@pytest.fixture(scope="module")
def findings(golden):
    """What is to be said of the recorded study."""
    return find(golden, (), ())


@pytest.fixture(scope="module")
def folder(golden, tmp_path_factory) -> Path:
    """Where the report of the recorded study was written."""
    found = tmp_path_factory.mktemp("report")
    report.write(golden, found)
    return found


@pytest.fixture
def html(folder) -> str:
    return (folder / HTML).read_text()


@pytest.fixture
def plain(html) -> str:
    """What a reader sees of its text."""
    return text_of(html)


@pytest.fixture
def written(tmp_path):
    """Write the report of tables; return its HTML, and what a reader sees of its text."""

    def write(tables, **more) -> tuple[str, str]:
        html = report.write(tables, tmp_path, **more).read_text()
        return html, text_of(html)

    return write


def changed(rows: Sequence[Struct], where: dict, **values) -> list[Struct]:
    """A copy with other values in the rows that are meant, of which there is one at least."""
    meant = [all(getattr(row, name) == value for name, value in where.items()) for row in rows]
    assert any(meant)
    return [structs.replace(row, **values) if here else row for row, here in zip(rows, meant, strict=True)]


def only(tables: collect.Tables, **where) -> collect.Tables:
    """The part of a study that has these keys."""
    kept = {
        name: [row for row in getattr(tables, name) if all(getattr(row, key) == value for key, value in where.items())]
        for name in ("jobs", "samples", "steps", "runs", "configurations")
    }
    records = (run for run in tables.records if all(getattr(run.spec, key) == value for key, value in where.items()))
    return replace(tables, **kept, records=tuple(records))


# ---- the recorded study ------------------------------------------------------------------------------


def test_the_page_needs_nothing_but_itself(html):
    page = Page(html)
    assert not {"script", "link", "img", "iframe", "object", "embed", "base"} & {tag for tag, _ in page.elements}
    outside = {
        (name, value)
        for _, attributes in page.elements
        for name, value in attributes.items()
        if value and "://" in value and not name.startswith("xmlns")
    }
    assert not outside
    targets = [value for _, found in page.elements for name, value in found.items() if name in ("href", "xlink:href")]
    assert targets and all(target.startswith("#") for target in targets)
    assert "@import" not in html
    assert set(re.findall(r"url\((.)", html)) == {"#"}


def test_identifiers_are_unique_and_what_refers_to_them_finds_them(html):
    named = [attributes["id"] for _, attributes in Page(html).elements if "id" in attributes]
    assert len(named) == len(set(named))
    labels = re.findall(r'aria-labelledby="([^"]+)"', html)
    wanted = {*re.findall(r'(?:url\(|href=")#([\w-]+)', html), *" ".join(labels).split()}
    assert wanted and wanted <= set(named)


def test_it_names_no_path_and_no_time_of_its_own(html, folder):
    assert str(folder) not in html
    assert str(ROOT) not in html
    assert not re.search(r"\b(19|20)\d\d-\d\d-\d\d\b", html)


def test_every_figure_says_in_words_what_it_shows(findings):
    pipelines = findings.sections[:2]
    shown = [figure for part in pipelines for each in (part, *part.parts) for figure in each.figures]
    drawings = [figure.drawing for figure in shown if figure.drawing]
    assert len(drawings) == 8  # two curves of germline; steps and timeline of three curve
    for drawing in drawings:
        root = ElementTree.fromstring(drawing.svg)
        assert root.get("role") == "img"
        assert root.find(f"{SVG}title").text == drawing.title
        assert root.find(f"{SVG}desc").text == drawing.description
        assert "width" not in root.attrib  # it takes the page's
        assert not list(root.iter(f"{SVG}style"))  # it would rule the page
        assert "font-family" not in drawing.svg.partition(">")[2]


# ---- the answer --------------------------------------------------------------------------------------


def test_a_small_genome_does_not_pass_for_a_human_one(findings):
    headline = findings.headlines[0]
    assert (headline.best.text, headline.best.error) == ("1,351", "± 235")
    assert headline.counts == "genomes a day, of 0.040 gigabases each"
    assert [name for _, name in headline.others] == ["gigabases a day"]
    assert headline.scale.startswith("These are no human genomes: a sample has 0.043% of the bases")
    assert headline.reached.startswith("N = 2 samples at once, shared workflow, compact binding, on AMD EPYC 7763")


@pytest.mark.deep
def test_a_whole_human_genome_passes_for_one(golden):
    scale = find(replace(golden, samples=changed(golden.samples, {}, gigabases=93.0)), (), ()).headlines[0].scale
    assert scale == "A sample has 100% of the bases of a human genome at 30x (93 gigabases)."


def test_samples_of_rna_are_no_genomes(findings):
    headline = findings.headlines[1]
    assert headline.counts.startswith("samples a day")
    assert not any("human" in name for _, name in headline.others)


@pytest.mark.deep
def test_where_no_sample_succeeded_there_is_no_best(golden):
    points = changed(golden.configurations, {}, genomes_per_day=estimate([0, 0]))
    assert find(replace(golden, configurations=points), (), ()).headlines[0].best.text == "none"


def test_headline_saturation_point_and_comparison_have_one_best_n(golden):
    """N = 2 gives 1% more than N = 1, which is within its noise: N = 1 is as good, and the smallest."""
    points = changed(golden.configurations, {"n": 1}, genomes_per_day=Estimate(1000.0, n=5, se=13.4))
    points = changed(points, {"n": 2}, genomes_per_day=Estimate(1010.0, n=5, se=13.4))
    found = find(only(replace(golden, configurations=points), pipeline="germline", mode="shared"), (), ())
    assert found.headlines[0].reached.startswith("N = 1 samples at once")
    assert found.headlines[0].reached.endswith(" gave 1,010, which is within the noise.")
    assert found.sections[0].parts[0].text.startswith("Saturation point, the best N: N = 1. ")
    side = study_side("study", replace(golden, configurations=points), curves_of(golden), "study")
    assert {side.saturation(key).best_n for key in side.curves if len(side.curves[key]) > 1} == {1}


@pytest.mark.deep
def test_a_search_without_its_block_has_no_figure_yet(tmp_path):
    folder = write_study(tmp_path / "searched", concurrent_samples=())
    for path in folder.glob("*-r[0-9]"):
        shutil.rmtree(path)
    found = find(collect.collect(folder), (), ())
    assert found.headlines[0].best.text == "none"
    assert found.headlines[0].reached == "N was sought, and nothing was measured since."
    (part,) = found.sections[0].parts
    assert part.text.startswith("No saturation point: N was sought")
    (sought,) = part.grids
    assert [line.head for line in sought.groups[0].lines] == ["1", "2", "3", "4"]


def test_one_repeat_has_no_error(findings):
    headline = findings.headlines[1]
    assert headline.best.error == ""
    assert "one repeat, no interval known" in headline.reached


# ---- tables ------------------------------------------------------------------------------------------


@pytest.mark.deep
def test_a_missing_value_is_blank(golden, written):
    where = {"step": "mark_duplicates", "n": 2, "mode": "shared"}
    html, plain = written(replace(golden, steps=changed(golden.steps, where, elapsed_h=None)))
    assert row(plain, "mark_duplicates") == ["4.1 \u00b1 1.9 (se 0.15)", ""]
    assert row(plain, "realign_indels") == ["not run", "not run"]
    for text in (html, plain):
        assert not re.search(r"\bnan\b|<NA>|&lt;NA|\bNone\b", text)


def test_times_are_means_over_repeats_with_their_half_widths_without_the_warm_up(golden, plain):
    own = [one for one in golden.steps if (one.mode, one.step, one.n) == ("shared", "haplotype_caller", 1)]
    counting = [one.elapsed_h for one in own if not one.warm_up]
    assert len(counting) == 2 < len(own)
    first, second = (hours * 3600 for hours in counting)
    # Student's t of one degree of freedom is 12.7062; the standard error of two is half of what they differ by
    error = abs(first - second) / 2
    shown = f"{fmean((first, second)):.1f} ± {12.7062 * error:.1f} (se {error:.1f})"
    assert row(plain, "haplotype_caller")[0] == shown


@pytest.mark.parametrize("curve", [CurveKey("germline", "shared", "compact"), CurveKey("tuxedo", "shared", "compact")])
def test_each_step_of_a_bar_has_a_whisker_where_repeats_tell_its_error(golden, curve):
    figure = study_figures.step_figure(curve, golden.summary, golden.configurations)
    summed = [row for row in golden.summary if row.curve_key == curve and row.metric == "summed_h"]
    steps = {row.step for row in summed if row.step and row.sd}
    assert len(re.findall(r'id="[^"]*LineCollection_\d+"', figure.drawing.svg)) == len(steps)
    assert bool(steps) is (curve.pipeline == "germline"), "the other curve has one repeat"


@pytest.mark.deep
@pytest.mark.parametrize("other", ["hard_filter", "train_variant_annotations"])
def test_a_step_in_place_of_others_is_shown_where_it_ran(golden, plain, written, other):
    assert other not in plain
    steps = changed(golden.steps, {"step": "variant_recalibration"}, step=other)
    _, plain = written(replace(golden, steps=steps))
    assert set(row(plain, "variant_recalibration")) == {"not run"}
    assert "" not in row(plain, other)


@pytest.mark.parametrize(("longest_s", "unit"), [(113, "seconds"), (1200, "minutes"), (3600 * 55.79, "hours")])
def test_a_table_has_one_unit_and_names_it(longest_s, unit):
    assert formats.unit_for(longest_s).name == unit


@pytest.mark.deep
def test_many_n_are_parted_evenly(golden):
    def spread(rows):
        return [row for n in range(1, 13) for row in changed(rows, {}, n=n)]

    one = only(golden, pipeline="tuxedo")
    many = replace(one, **{name: spread(getattr(one, name)) for name in ("steps", "runs", "configurations")})
    grids = find(many, (), ()).sections[0].parts[0].grids
    assert [grid.heads[1:] for grid in grids[:2]] == [
        tuple(f"N = {n}" for n in counts) for counts in (range(1, 7), range(7, 13))
    ]


# ---- faults ------------------------------------------------------------------------------------------


def test_a_failure_is_named_with_step_cause_message_and_log(html, plain):
    for text in (html, plain):
        assert "1 of 15 sample runs failed" in text
        part = text[text.index("Samples that failed") :]
        for printed in ("HG004", "haplotype_caller", "out_of_memory", "Java heap space", "HG004/logs/haplotype_caller"):
            assert printed in part


@pytest.mark.deep
def test_what_users_and_tools_wrote_is_no_markup(golden, written):
    samples = changed(golden.samples, {"sample": "HG004", "succeeded": False}, message=NASTY)
    html, plain = written(replace(golden, samples=samples))
    assert "script" not in {tag for tag, _ in Page(html).elements}
    assert "&lt;script&gt;alert(1)" in html
    assert " ".join(NASTY.split()) in plain


@pytest.mark.deep
def test_outputs_that_differ_are_an_error_above_all_else(golden, written):
    found = Disagreement("calls", ("HG003",), {"a" * 64: (SHARED,), "b" * 64: ("other-run",)}, "germline")
    html, plain = written(golden, disagreements=[found])
    for text in (html, plain):
        printed = "Samples that ran in several runs gave different results: calls of HG003 (germline)"
        assert text.index(printed) < text.index("Best of germline")
        for digest in ("aaaaaaaaaaaa", "bbbbbbbbbbbb"):
            assert digest in text
    assert html.index('class="notice error" role="alert"') < html.index("gave different results")


@pytest.mark.deep
def test_the_records_of_the_runs_are_compared(golden, written):
    run, *others = golden.records
    outputs = tuple(replace(output, digest="0" * 64) for output in run.outputs)
    _, plain = written(replace(golden, records=(replace(run, outputs=outputs), *others)))
    assert plain.index("error Samples that ran in several runs gave different results") < plain.index("Best of")


def test_how_many_outputs_agree_is_said(plain):
    assert "3 outputs came from more than one run each, and were the same in all of them." in plain


def test_runs_that_did_not_end_are_named_and_in_no_figure(html, plain):
    for text in (html, plain):
        assert text.count("germline-n4-shared-compact-r1") == 1
        assert "1 run did not end" in text
        assert not re.search(r"N = 4(</th>| \|)", text)


@pytest.mark.deep
def test_no_text_is_markup(golden, written):
    spec = "<b>*run*</b> [x](y)"
    html, plain = written(replace(golden, unfinished=(spec,), runs=changed(golden.runs, {}, study=spec)))
    assert "<li>&lt;b&gt;*run*&lt;/b&gt; [x](y)</li>" in html
    assert f"\n{spec}\n" in plain and f"Throughput of {spec}\n" in plain
    assert "<b>*" not in html


@pytest.mark.deep
def test_a_broken_binding_is_said_at_the_top(golden, written):
    where = {"run": SHARED, "step": "mark_duplicates", "sample": "HG001"}
    _, plain = written(replace(golden, jobs=changed(golden.jobs, where, binding_ok=False)))
    printed = "Binding was broken: 1 job ran on CPUs outside the allocation"
    assert plain.index(printed) < plain.index("Best of germline")
    assert f"mark_duplicates HG001 in {SHARED}." in plain
    assert (
        "72 of 123 jobs of the steps had an allocation of CPUs, disjoint from all others; 71 were seen to keep" in plain
    )


@pytest.mark.deep
def test_what_disturbed_runs_is_said_at_the_top(golden, written):
    what = "a CPU quota held processes for 2.50 s; heat slowed its CPUs 3 times"
    _, plain = written(replace(golden, runs=changed(golden.runs, {"run": SHARED}, disturbances=what)))
    assert plain.index(f"{SHARED} was disturbed: {what}.") < plain.index("Best of germline")
    assert "CPU quota held" not in written(golden)[1]


@pytest.mark.deep
def test_a_bad_sample_and_a_job_outside_of_the_steps_are_named(golden, written):
    samples = changed(golden.samples, {"sample": "HG004", "succeeded": False}, fault="data")
    jobs = changed(golden.jobs, {"run": SHARED, "rule": "samtools_stats", "sample": "HG001"}, exit_code=1)
    _, plain = written(replace(golden, samples=samples, jobs=jobs))
    assert "Bad data, for they fail wherever drawn, alone too: HG004." in plain
    assert f"1 job of no named step failed: samtools_stats HG001 in {SHARED}." in plain
    assert row(plain, "HG004")[3] == "its data"


@pytest.mark.deep
def test_a_job_outside_of_the_steps_that_was_mended_by_a_retry_is_not_named(golden, written):
    again = {"run": SHARED, "rule": "samtools_stats", "sample": "HG001"}
    failed = changed(golden.jobs, again, exit_code=1)
    both = [*failed, *golden.jobs]
    assert "of no named step" not in written(replace(golden, jobs=both))[1]


@pytest.mark.deep
def test_the_load_of_a_node_and_repeats_on_different_nodes_are_said(golden, written):
    idle, busy = Load(busy_cpus=0.01, busy=False), Load(busy_cpus=1.5, busy=True)
    run, *others = (replace(run, host=replace(run.host, load=idle)) for run in golden.records)
    host = replace(run.host, hostname="node2", load=busy)
    _, plain = written(replace(golden, records=(replace(run, host=host), *others)))
    assert "Repeats that go into one mean differ" in plain
    assert row(plain, "machine") == ["node2", "node1"]
    assert "at most 1.5 CPUs at work, before any of 1 run" in plain


# ---- figures -----------------------------------------------------------------------------------------


def test_the_saturation_is_marked_and_said(findings):
    (throughput, *_), curve = (part := findings.sections[0]).figures, part.parts
    assert ">saturation point</text>" in throughput.drawing.svg
    assert curve[0].text.startswith("Saturation point, the best N: N = 2. ")


@pytest.mark.deep
def test_published_curves_have_a_panel_of_their_own(golden, html, plain, written):
    assert plain.count("For reference only") == 1
    assert "8352Y: 1.06 at N = 1" in html
    assert "printed 4.79, 3.19 follows from the steps" in plain
    _, plain = written(golden, references=())
    assert "For reference only" not in plain


@pytest.mark.deep
def test_one_n_has_no_curve_and_that_is_said(golden, written):
    html, plain = written(only(golden, pipeline="germline", n=1), references=())
    for text in (html, plain):
        assert "No curve of genomes a day: it takes more than one N" in text
        assert "No saturation point: one N alone was run." in text
    assert "germline-throughput" not in html
    assert "germline-shared-compact-steps" in html


def test_a_study_of_which_no_run_has_ended(golden, written):
    html, plain = written(only(golden, pipeline="none"))
    for text in (html, plain):
        assert "No run of this study has ended" in text
        assert "germline-n4-shared-compact-r1" in text
    assert "<svg" not in html


@pytest.mark.deep
def test_a_timeline_shows_the_longest_jobs_and_says_so(golden):
    own = [job for job in golden.jobs if job.run == SHARED and job.timed]
    many = [
        structs.replace(job, start_s=job.start_s + 130 * at, end_s=job.end_s + 130 * at)
        for at in range(100)
        for job in own
    ]
    shown = study_figures.timeline_figure(CurveKey("germline", "shared", "compact"), many, golden.steps)
    assert f"The longest 1,500 of {len(many):,} bars are shown." in shown.note
    assert shown.drawing.svg.count("<path") < 1600


@pytest.mark.deep
def test_jobs_whose_end_nobody_saw_are_left_out_and_counted(golden):
    where = {"run": SHARED, "step": "apply_variant_recalibration", "sample": "HG001"}
    findings = find(replace(golden, jobs=changed(golden.jobs, where, end_s=None)), (), ())
    assert "1 attempt whose end was not seen is not shown." in findings.sections[0].parts[0].figures[1].note


def test_jobs_without_a_allocation_have_lanes_by_sample(findings):
    shown = findings.sections[0].parts[1].figures[1]
    assert "Its jobs had no allocation of CPUs" in shown.note
    assert ">HG003</text>" in shown.drawing.svg


@pytest.mark.parametrize(
    ("text", "cpus"), [("3", {3}), ("0-3,8", {0, 1, 2, 3, 8}), ("0-1,128-129", {0, 1, 128, 129}), ("", set())]
)
def test_cpus_are_read(text, cpus):
    assert parse_cpus(text) == cpus


@pytest.mark.deep
@given(st.lists(st.tuples(st.sampled_from("ABC"), st.integers(0, 50), st.integers(1, 20)), min_size=1, max_size=30))
def test_no_two_jobs_share_a_lane_at_one_time(jobs):
    made = [
        study_figures.Span(sample, "align", None, start, start + length, failed=False) for sample, start, length in jobs
    ]
    bars, lanes = study_figures.by_sample(made, formats.UNITS[-1])
    assert len(bars) == len(made)
    assert max(bar.lane for bar in bars) == len(lanes) - 1
    for one, other in combinations(bars, 2):
        assert one.lane != other.lane or one.end <= other.start or other.end <= one.start


@given(st.sets(st.integers(0, 300), min_size=1))
def test_a_allocation_is_drawn_once_over_each_run_of_neighbours(cpus):
    drawn = [range(first, first + count) for first, count in study_figures.neighbours(sorted(cpus))]
    assert [cpu for found in drawn for cpu in found] == sorted(cpus)
    assert all(one.stop < other.start for one, other in pairwise(drawn))


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_steps_are_told_apart_and_their_numbers_can_be_read(pipeline):
    numbers = step_numbers(pipeline, ())
    of_steps = [looks.look(step, numbers) for step in PIPELINES[pipeline].steps]
    assert len(set(of_steps)) == len(of_steps)
    for colour, _ in of_steps:
        ink = "#ffffff" if colour in looks.DARK else "#000000"
        light, dark = sorted((luminance(ink), luminance(colour)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 3  # WCAG 2.1, 1.4.11


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2.1 defines it."""
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


# ---- numbers and words -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mean", "error", "shown"),
    [
        (1350.6, 17.9, ("1,351", "± 18")),
        (2.79, 0.004, ("2.790", "± 0.004")),
        (2.79, 1.2, ("2.79", "± 1.20")),
        (0.0312, None, ("0.0312", "")),
        (51.4, 0.0, ("51.4", "± 0.0")),
        (0.0, 0.0, ("0", "± 0")),
        (None, None, ("", "")),
    ],
)
def test_a_mean_has_the_decimals_of_its_error(mean, error, shown):
    assert formats.with_error(mean, error) == shown


def test_the_method_has_eleven_lines(findings):
    assert len(findings.sections[-1].lines) == 11
