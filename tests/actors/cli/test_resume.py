"""`prism resume`: going on with a run, and when it refuses to."""

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import anyio
import pytest
import yaml

from actors.runs.directory import RunDirectory
from actors.runs.fork import fork
from actors.store.checkpoint import checkpoint_name, read_checkpoint
from actors.store.disk import RealDisk
from actors.store.journal import JOURNAL
from actors.store.manifest import CONFIG, MANIFEST, SUMMARY
from actors.store.oracle_log import ANSWERS
from actors.store.rounds import ROUNDS
from tests.actors.cli.conftest import Made
from tests.actors.store.independent_reader import read_run
from tests.catalogue import catalogue
from tests.command import Prism
from tests.wire.support import summary

CLOCK = ("wall_s", "latency_s_p50", "latency_s_p95", "wall_activations", "resumes", "ticks_replayed", "shards")


@pytest.fixture
def begun(made: Made, small_run: Path, tmp_path: Path) -> Path:
    """A run of 60 ticks, and one of all 72 to compare with: `begun` and `whole`."""
    shutil.copytree(small_run, tmp_path / "whole")
    return shutil.copytree(made("--ticks", "60"), tmp_path / "begun")


def are_same(run: Path, other: str = "whole") -> bool:
    """Whether the journals, the series and, the clock aside, the summaries are equal."""
    one, two = (json.loads(Path(path, SUMMARY).read_text()) for path in (run, other))
    for key in CLOCK:
        one.pop(key), two.pop(key)
    return one == two and all((run / name).read_bytes() == Path(other, name).read_bytes() for name in (JOURNAL, ROUNDS))


def edit(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


def test_more_ticks_make_a_run_the_same_as_a_longer_one_and_one_that_is_done_is_left_as_it_is(
    begun: Path, prism: Prism
) -> None:
    ended = prism("resume", "begun", "-q", "--ticks", "72")
    assert (ended.code, ended.err, are_same(begun)) == (0, "", True)
    assert json.loads((begun / MANIFEST).read_text())["resumed"] == [60]
    assert prism("resume", "whole", "-q").out == ended.out
    assert prism("resume", "whole").out == "whole: has all its 72 ticks; --ticks N makes it longer\n"
    assert are_same(begun)


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[content.index(b"\n") + 1] ^= 1
    path.write_bytes(content)


ROWS_AGAIN = "prism: rounds.csv: rows up to the latest checkpoint are missing or damaged, and are written again\n"
SPOILT: list[tuple[str, str, Callable[[Path], object], bool]] = [
    ("begun", ROUNDS, Path.unlink, True),
    ("begun", ROUNDS, flip, True),
    ("whole", ROUNDS, Path.unlink, True),
    ("whole", ROUNDS, lambda path: path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1])), True),
    ("whole", ROUNDS, lambda path: edit(path, "round,tick", "Round,tick"), False),
    ("whole", SUMMARY, lambda path: edit(path, json.loads(path.read_text())["digest"], "z" * 32), True),
    ("whole", SUMMARY, Path.unlink, False),
]


@catalogue(("of", "name", "spoil", "has_checkpoints"), SPOILT)
@pytest.mark.usefixtures("begun")
def test_what_a_run_lacks_is_written_again(
    of: str, name: str, spoil: Callable[[Path], object], has_checkpoints: bool, prism: Prism, tmp_path: Path
) -> None:
    run = Path(shutil.copytree(of, tmp_path / "spoilt"))
    spoil(run / name)
    for path in () if has_checkpoints else run.glob("checkpoint-*"):
        path.unlink()
    ended = prism("resume", str(run), "-q", *(("--ticks", "72") if of == "begun" else ()))
    digest = json.loads(Path("whole", SUMMARY).read_text())["digest"]
    assert (ended.code, ended.out, are_same(run)) == (0, f"{digest}\n", True)
    assert of == "whole" or ended.err == ROWS_AGAIN
    assert prism("verify", str(run), "--quick").code == 0


@pytest.mark.parametrize("how", ["--set", "edit"])
def test_a_setting_that_made_the_past_cannot_be_another(how: str, begun: Path, prism: Prism) -> None:
    options: tuple[str, ...] = ("--accept-settings",)
    if how == "edit":
        edit(begun / CONFIG, "algorithm: interest", "algorithm: hot")
    else:
        options = ("--set", "feed.algorithm=hot", "--accept-settings")
    before = [(begun / name).read_bytes() for name in (JOURNAL, SUMMARY)]
    ended = prism("resume", "begun", *options)
    told = (
        'prism: begun: cannot continue: feed.algorithm is "hot", was "interest" when the run began.'
        " Put it back, or branch off with `prism fork`.\n"
    )
    assert (ended.code, ended.err) == (2, told)
    assert [(begun / name).read_bytes() for name in (JOURNAL, SUMMARY)] == before


def test_a_setting_that_cannot_change_the_past_must_be_accepted(begun: Path, prism: Prism) -> None:
    options = ("resume", "begun", "-q", "--ticks", "72", "--set", "run.checkpoint_every_ticks=3")
    refused = prism(*options)
    told = (
        "prism: begun: cannot continue: run.checkpoint_every_ticks is 3, was null when the run began."
        " Put it back, or continue anyway with --accept-settings.\n"
    )
    assert (refused.code, refused.err) == (2, told)
    assert (prism(*options, "--accept-settings").code, are_same(begun)) == (0, True)


def test_a_changed_input_file_changes_nothing_and_a_damaged_kept_one_is_named(prism: Prism) -> None:
    Path("ties.txt").write_text("1 2\n2 3\n3 1\n")
    options = ("--set", "population.graph.path=ties.txt", "-q", "--out", "o", "--ticks", "9")
    assert prism("run", "small.yaml", *options).code == 0
    Path("ties.txt").write_text("1 2\n2 3\n3 1\n1 3\n")
    assert prism("resume", "o", "--ticks", "10").code == 0
    (kept,) = Path("o/inputs").glob("*/ties.txt")
    kept.chmod(0o644)
    kept.write_text("1 2\n2 3\n3 1\n1 3\n")
    ended = prism("resume", "o", "--ticks", "11")
    assert ended.code == 3
    assert ended.err.startswith(f"prism: {kept.relative_to('o')}: is not what the run has kept: ")


def test_a_run_stopped_at_its_spend_cap_goes_on_with_a_higher_one(prism: Prism) -> None:
    def more(cap: int) -> int:
        return prism("resume", "o", "-q", "--accept-settings", "--set", f"oracle.max_calls={cap}").code

    capped = ("--set", "oracle.max_calls=10", "--set", "oracle.when_spent=stop")
    stopped = prism("run", "small.yaml", *capped, "--out", "o")
    assert stopped.code == 4
    assert "prism: stopped; continue with: prism resume o --accept-settings --set oracle.max_calls=..." in stopped.err
    assert more(20) == 4
    summary = json.loads(Path("o", SUMMARY).read_text())
    assert (summary["status"], summary["stopped_by"], summary["oracle_calls"]) == ("stopped", "spend_cap", 20)
    assert prism("verify", "o", "--quick").code == 0
    assert more(100_000) == 0
    summary = json.loads(Path("o", SUMMARY).read_text())
    assert (summary["status"], summary["fallbacks_by_reason"], summary["ticks"]) == ("done", {}, 72)
    assert prism("run", "small.yaml", "-q").out == f"{summary['digest']}\n"  # no choice is lost at the cap


HOT = ("--set", "feed.algorithm=hot", "-q")


@pytest.fixture
def parent(small_run: Path, tmp_path: Path) -> Path:
    """A run of 72 ticks."""
    return shutil.copytree(small_run, tmp_path / "parent")


def test_the_past_is_the_parents_and_the_future_another(parent: Path, prism: Prism) -> None:
    options = ("fork", "parent", "--at", "30", *HOT)
    ended = prism(*options, "--out", "child")
    assert ended.out.strip() == summary("child")["digest"] != summary(parent)["digest"]
    (origin,) = json.loads(Path("child", MANIFEST).read_text())["forks"]
    assert (origin["parent"], origin["tick"]) == ("parent", 30)
    common = prism("replay", "parent", "-q", "--ticks", "30").out.strip()
    assert prism("replay", "child", "-q", "--ticks", "30").out.strip() == common == origin["digest"]
    assert prism("replay", "child", "-q").out == ended.out
    prepared = prism("fork", "parent", "--at", "30", *HOT[:-1], "--prepare", "--out", "later")
    assert (prepared.code, prepared.out) == (0, "later: ready; run it with: prism resume later\n")
    assert not Path("later", SUMMARY).exists()
    assert prism("resume", "later", "-q").out == ended.out


def test_a_fork_begins_at_the_nearest_checkpoint_and_is_the_one_that_begins_at_tick_0(
    few_run: Path, tmp_path: Path
) -> None:
    kept = sorted(int(path.stem.rpartition("-")[2]) for path in few_run.glob("checkpoint-*.bin"))
    at = kept[0] + 1
    assert at < 36
    shutil.copytree(few_run, tmp_path / "few")
    shutil.copytree(few_run, tmp_path / "bare", ignore=shutil.ignore_patterns("checkpoint-*"))
    begun: list[int] = []
    for parent in ("few", "bare"):
        child = RunDirectory.create(tmp_path / f"of-{parent}", "")
        anyio.run(
            partial(fork, RunDirectory(tmp_path / parent), child, at, ["feed.algorithm=hot"], 36),
            lambda simulation: begun.append(simulation.tick),
        )
    assert begun == [kept[0], 0]
    for name in (JOURNAL, ANSWERS, ROUNDS):
        one, other = ((tmp_path / f"of-{parent}" / name) for parent in ("few", "bare"))
        assert one.exists() == other.exists(), name
        assert not one.exists() or one.read_bytes() == other.read_bytes(), name
    # Which answers of open questions have arrived is a matter of time: a resume asks for the others again.
    first, second = (
        read_checkpoint(RealDisk(tmp_path / f"of-{parent}"), checkpoint_name(at)) for parent in ("few", "bare")
    )
    assert (first.position.journal_bytes, first.position.link) == (second.position.journal_bytes, second.position.link)
    assert first.columns == second.columns
    assert first.state.engine.asked == second.state.engine.asked


@pytest.mark.slow
@pytest.mark.usefixtures("parent")
def test_a_fork_of_a_fork_replays_through_all_three_futures(prism: Prism) -> None:
    assert prism("fork", "parent", "--at", "24", *HOT, "--out", "one").code == 0
    second = prism("fork", "one", "--at", "48", "--set", "feed.algorithm=random", "-q", "--out", "two", "--ticks", "96")
    assert (second.code, summary("two")["ticks"]) == (0, 96)
    forks = json.loads(Path("two", MANIFEST).read_text())["forks"]
    assert [(each["parent"], each["tick"]) for each in forks] == [("parent", 24), ("one", 48)]
    for name in ("parent", "one"):  # a run stands on its own, also when those before it are gone
        shutil.rmtree(name)
    assert prism("replay", "two", "-q").out == second.out
    assert prism("verify", "two").code == 0
    # Its rows are those of three pasts, and so are the settings that the rows are compared with.
    rows, whole = Path("two", ROUNDS), Path("two", ROUNDS).read_text()
    rows.write_text(whole.replace("1,24,", "1,24,9", 1))
    assert f"two/{ROUNDS}: BAD: round 1: activations is 9" in prism("verify", "two").out
    rows.write_text(whole)
    Path("two/config-until-24.yaml").unlink()
    assert "two/config-until-24.yaml: BAD: cannot be read: " in prism("verify", "two").out


def test_a_fork_whose_checkpoints_are_gone_says_how_to_branch_off_again(parent: Path, prism: Prism) -> None:
    assert prism("fork", str(parent), "--at", "70", *HOT, "--out", "f").code == 0
    for path in Path("f").glob("checkpoint-*"):
        path.unlink()
    ended = prism("resume", "f", "--ticks", "100")
    told = (
        "prism: f: cannot continue: it branched off parent after 70 ticks, and no checkpoint from then on can be used."
        " Branch off again with: prism fork parent --at 70\n"
    )
    assert (ended.code, ended.err) == (2, told)
    assert prism("replay", "f", "-q").code == 0, "what there is can still be read"


def test_a_fork_has_the_rows_of_its_past_whatever_became_of_its_parents_file(parent: Path, prism: Prism) -> None:
    whole = (parent / ROUNDS).read_text().splitlines(keepends=True)
    (parent / ROUNDS).unlink()
    assert prism("fork", "parent", "--at", "50", "--prepare", "--out", "child").code == 0
    assert Path("child", ROUNDS).read_text() == "".join(whole[:3])
    assert prism("verify", "child").code == 0
    assert prism("resume", "child", "-q", "--ticks", "100").code == 0
    assert Path("child", ROUNDS).read_text().startswith("".join(whole) + "4,96,")


MADE = [
    {"round": 2, "publish": {"author": 3, "text": "Breaking: a bridge", "topics": ["food"], "quality": 0.9}},
    {"tick": 27, "set": {"feed.algorithm": "chronological"}},
    {"tick": 27, "follow": [[1, 2]]},
    {"round": 3, "silence": [7, 8]},
]
NEWS = "- {round: 3, publish: {author: 9, text: More news}}\n- {tick: 60, unfollow: [[1, 2]]}\n"


@pytest.fixture
def run(made: Made) -> str:
    """Return a run with interventions."""
    return str(made("--set", f"interventions={yaml.safe_dump(MADE, default_flow_style=True)}"))


def test_the_journal_alone_shows_each_intervention_before_the_answers_of_its_tick(run: str, prism: Prism) -> None:
    found = read_run(Path(run))
    places = [(24, 0, "publish"), (27, 1, "set"), (27, 2, "follow"), (48, 3, "silence")]
    assert [(row["tick"], row["number"], row["kind"]) for row in found.rows("interventions")] == places
    assert [row["content"] for row in found.rows("interventions")] == MADE
    for tick, waves in ((24, 1), (27, 2), (48, 1)):
        assert len(found.ticks[tick]["interventions"]) == waves
        assert not any(found.ticks[tick]["updates"][:waves])
        assert any(found.ticks[tick]["updates"][waves:])
    kinds = [(tick, kind) for tick, _, kind in places]
    summary = json.loads(Path(run, "summary.json").read_bytes())
    assert [(each["tick"], each["kind"]) for each in summary["interventions"]] == kinds
    log = [json.loads(line) for line in Path(run, "log.jsonl").read_text().splitlines()]
    assert [(line["at_tick"], line["kind"]) for line in log if line["event"] == "intervention_made"] == kinds
    assert prism("replay", run, "--quiet").out.strip() == summary["digest"] == found.digest


@pytest.mark.slow
def test_a_fork_adds_interventions_to_those_of_its_parent(run: str, prism: Prism) -> None:
    Path("news.yaml").write_text(NEWS)
    ended = prism("fork", run, "--at", "30", "--intervene", "news.yaml", "--out", "child", "--quiet")
    assert ended.code == 0, ended.err
    child = read_run(Path("child"))
    kinds = [(row["tick"], row["kind"]) for row in child.rows("interventions")]
    assert kinds[-4:] == [(27, "follow"), (48, "silence"), (48, "publish"), (60, "unfollow")]
    assert child.ticks[:30] == read_run(Path(run)).ticks[:30]
    assert prism("replay", "child", "--quiet").out == ended.out
    assert prism("fork", "child", "--at", "50", "--out", "again", "--quiet").out == ended.out


def test_a_fork_refuses_interventions_and_settings_of_its_past(run: str, prism: Prism) -> None:
    news = Path("news.yaml")
    for text, told in {
        "": "news.yaml: no such file",
        NEWS: "news.yaml:1: interventions[0].round: expected tick 49 or later, where the fork begins",
        "- {tick: 60, silence: [60]}": "interventions[0].silence[0]: expected the number of one of 60 people, 0 to 59",
    }.items():
        if text:
            news.write_text(text)
        ended = prism("fork", run, "--at", "49", "--intervene", "news.yaml", "--out", "child")
        assert (ended.code, told in ended.err) == (3, True), ended
    chosen = ("--set", "feed.algorithm=hot", "--out", "child", "--quiet")
    ended = prism("fork", run, "--at", "30", *chosen)
    assert (ended.code, "feed.algorithm was set by an intervention at tick 27" in ended.err) == (2, True)
    assert not Path("child").exists()
    assert prism("fork", run, "--at", "26", *chosen).code == 0
