"""Plans: a cell is known by what decides its result, and by nothing else."""

import sys
from pathlib import Path

import pytest

from actors.core.errors import RunDirectoryError
from actors.studies.experiments.plan import Plan, make_plan, promised_so_far, record_plan
from actors.studies.experiments.record import read_experiment_record
from prism.errors import ConfigError
from tests.actors.studies.experiments.files import BASE, EXPERIMENT, write_experiment
from tests.catalogue import catalogue

PATHS = "population: {graph: {path: graph.txt}}\n"
RING = "0 1\n1 2\n"


def plan_of(directory: Path, text: str = EXPERIMENT, base: str = BASE) -> Plan:
    return make_plan(write_experiment(directory, text, base))


def keys(plan: Plan) -> set[str]:
    return {cell.key for cell in plan.cells}


def test_a_key_does_not_depend_on_what_changes_no_result(tmp_path: Path) -> None:
    before = plan_of(tmp_path)
    changed = BASE + "run: {checkpoint_every_ticks: 7}\nmetrics: {enabled: true, port: 9999}\n"
    text = EXPERIMENT.replace("seeds: 3", "seeds: 4").replace("random:", "other:").replace(", random]", ", other]")
    after = plan_of(tmp_path, text, changed)
    assert keys(before) < keys(after)
    assert before.hash != after.hash


def test_a_key_depends_on_settings_and_on_the_content_of_input_files(tmp_path: Path) -> None:
    found = []
    for graph, base in ((RING, PATHS), (f"{RING}2 0\n", PATHS), (f"{RING}2 0\n", PATHS + "feed: {attention: 0.5}\n")):
        (tmp_path / "graph.txt").write_text(graph)
        found.append(keys(plan_of(tmp_path, base=base)))
    assert len(set.union(*found)) == sum(map(len, found))


@catalogue(
    ("old", "new", "problem"),
    [
        ("feed.size: 3", "feed.size: 0", "e.yaml:6: design.conditions.random.feed.size: expected int"),
        (
            "feed.size: 3",
            "feed.sise: 3",
            "e.yaml:6: design.conditions.random.feed.sise: unknown key; did you mean feed.size?",
        ),
        ("base.yaml", "none.yaml", ":2: base: no such file: none.yaml, beside this file or in "),
        ("design:", "set: {feed.size: 0}\ndesign:", "e.yaml:3: set.feed.size: expected int"),
        ("rounds.posts", "rounds.pots", "measures.posts: no column 'pots' in rounds.csv: did you mean posts?"),
        ("likes: likes", "likes: likez", "e.yaml:9: measures.likes: no measure 'likez': did you mean likes?"),
        (
            "likes: likes",
            "likes: behaviour.engagement_per_post",
            "no measure 'behaviour.engagement_per_post': did you mean behaviour.engagement_per_post_seen?",
        ),
        ("likes: likes", "likes: likes.all", "e.yaml:9: measures.likes: no measure 'likes.all': expected one of likes"),
        ("likes: likes", "likes: 'no_module:f'", "e.yaml:9: measures.likes: no_module:f cannot be imported: "),
    ],
)
def test_what_is_wrong_is_found_before_the_first_run(tmp_path: Path, old: str, new: str, problem: str) -> None:
    with pytest.raises(ConfigError) as refused:
        plan_of(tmp_path, EXPERIMENT.replace(old, new))
    assert problem in str(refused.value)


@catalogue(
    ("base", "known", "unknown"),
    [
        ("{}", ["cascade_sizes.7", "behaviour.time_by_state.idle", "rounds.growth.likes"], ["inflation"]),
        (
            "simulation: {domain: economy}",
            ["inflation", "rounds.mean.inflation", "interest_rate_path.mean"],
            ["likes", "engagement", "cascade_sizes.7"],
        ),
    ],
)
def test_measures_are_those_of_the_domain_and_what_a_run_itself_names_is_left_to_it(
    tmp_path: Path, base: str, known: list[str], unknown: list[str]
) -> None:
    text = EXPERIMENT[: EXPERIMENT.index("design:")] + "design: {conditions: {a: {}, b: {feed.size: 3}}}\nseeds: 2\n"
    for place in (*known, "decisions_by_source.llm", "llm.cost_usd", "wall_s"):
        plan_of(tmp_path, f"{text}measures: {{m: {place}}}\n", base)
    for place in unknown:
        with pytest.raises(ConfigError, match=f"e.yaml:5: measures.m: no measure '{place}'"):
            plan_of(tmp_path, f"{text}measures: {{m: {place}}}\n", base)


def test_a_level_or_a_sampled_value_that_cannot_be_names_its_factor_and_its_condition(tmp_path: Path) -> None:
    before, after = EXPERIMENT.split("design:")[0], "seeds: 3\nmeasures: {likes: likes}\n"
    levels = "design:\n  kind: factorial\n  factors:\n    feed.attention: [0.5, 0.7]\n    feed.size: [3, 0]\n"
    with pytest.raises(ConfigError) as refused:
        plan_of(tmp_path, before + levels + after)
    said = str(refused.value)
    assert "e.yaml:7: design.factors.feed.size: expected int" in said
    assert said.endswith("got 0 (condition attention=0.5 size=0)")
    with pytest.raises(ConfigError, match=r"base\.yaml:1: feed\.size: expected int"):
        plan_of(tmp_path, base="feed: {size: 0}\n")


def test_the_code_of_an_own_measure_is_part_of_the_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    text = EXPERIMENT.replace("posts: rounds.posts", "posts: 'planned_measures:f'")
    hashes = list[str]()
    for body in ("1.0", "2.0", "1.0"):
        (tmp_path / "planned_measures.py").write_text(f"def f(run):\n    return {body}\n")
        sys.modules.pop("planned_measures", None)
        hashes.append(plan_of(tmp_path, text).hash)
    sys.modules.pop("planned_measures", None)
    assert hashes[0] == hashes[2] != hashes[1]


@catalogue(
    ("old", "new", "base", "graph", "is_planned"),
    [
        ("seeds: 3", "seeds: 4", PATHS, RING, True),
        ("Does", "Really, does", PATHS + "run: {checkpoint_every_ticks: 7}\n", RING, True),
        ("likes: likes", "likes: posts_seen", PATHS, RING, False),
        ("feed.size: 3", "feed.size: 4", PATHS, RING, False),
        ("", "", PATHS + "feed: {size: 9}\n", RING, False),
        ("", "", PATHS, "0 1\n2 1\n", False),
    ],
)
def test_a_hypothesis_was_planned_if_its_measure_and_conditions_meant_the_same(
    tmp_path: Path, old: str, new: str, base: str, graph: str, *, is_planned: bool
) -> None:
    (tmp_path / "graph.txt").write_text(RING)
    planned = record_plan(tmp_path, plan_of(tmp_path, base=PATHS), 0).planned
    (tmp_path / "graph.txt").write_text(graph)
    changed = plan_of(tmp_path, EXPERIMENT.replace(old, new) if old else EXPERIMENT, base)
    found = record_plan(tmp_path, changed, 6)
    assert found.planned == (planned if is_planned else [])
    notes = [note.partition(":")[0] for note in found.notes]
    assert ("exploratory, although it was planned in these words" in notes) == (not is_planned)
    record = read_experiment_record(tmp_path)
    assert (record.plan.hash, bool(record.outcome.exploratory)) == (changed.hash, not is_planned)


@pytest.mark.slow
def test_a_planned_hypothesis_that_is_removed_after_results_is_named(tmp_path: Path) -> None:
    second = "  - {measure: posts, contrast: [random, chronological], test: t}\n"
    record_plan(tmp_path, plan_of(tmp_path, EXPERIMENT + second), 0)
    [note] = record_plan(tmp_path, plan_of(tmp_path), 6).notes
    assert note.startswith("removed after there were results: posts: random differs from chronological (t): ")


def test_a_table_beside_the_file_is_a_design_and_its_errors_name_line_and_column(tmp_path: Path) -> None:
    text = EXPERIMENT[: EXPERIMENT.index("design:")] + (
        "design: {kind: table, file: design.csv}\nseeds: 2\nmeasures: {likes: likes}\n"
    )
    path = write_experiment(tmp_path, text)
    (tmp_path / "design.csv").write_text("name,feed.size,feed.algorithm\nfew,2,hot\nmany,9,random\n")
    assert [(cell.condition, cell.config.feed.size) for cell in make_plan(path).cells[::2]] == [("few", 2), ("many", 9)]
    for old, new, problem in (
        ("9", "0", "design.csv:3: feed.size: expected int"),
        ("feed.size", "feed.sise", "design.csv:1: feed.sise: unknown key; did you mean feed.size?"),
    ):
        wrong = (tmp_path / "design.csv").read_text().replace(old, new)
        (tmp_path / "wrong.csv").write_text(wrong)
        with pytest.raises(ConfigError, match=problem.replace("design", "wrong").replace("?", r"\?")):
            plan_of(tmp_path, text.replace("design.csv", "wrong.csv"))
    (tmp_path / "design.csv").unlink()
    missing = r"design\.csv: no such file; expected a CSV file with a condition in each row"
    with pytest.raises(ConfigError, match=missing):
        plan_of(tmp_path, text)


def test_seeds_that_were_added_after_results_are_said_and_fewer_seeds_are_no_others(tmp_path: Path) -> None:
    notes = []
    for seeds in ("3", "[1, 2]", "[2, 3]", "[3, 4]"):
        plan = plan_of(tmp_path, EXPERIMENT.replace("seeds: 3", f"seeds: {seeds}"))
        notes.append(record_plan(tmp_path, plan, 6).notes)
    assert notes[:3] == [[], [], []]
    [note] = notes[3]
    assert note.startswith("seeds were added after there were results (3, then 2, then 2, then 2): p values hold for")
    (tmp_path / "plans" / "005-abababababababab.json").write_text('{"a":' * 100_000)
    with pytest.raises(RunDirectoryError, match="holds a file that is no plan: is not what PRISM writes: it is nested"):
        promised_so_far(tmp_path, plan)
