"""`prism verify`: whether files, rows, settings and inputs of a run are what was written."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from actors import resume
from actors.core.errors import DivergedError, RunDirectoryError
from actors.core.frames import ORIGIN, encode_frame, link_of
from actors.runs.directory import RunDirectory
from actors.store.disk import RealDisk
from actors.store.journal import JOURNAL, TickFrame, read_tail, read_ticks
from actors.store.manifest import CONFIG, MANIFEST, SUMMARY, read_manifest
from actors.store.oracle_log import ANSWERS
from actors.store.record import Record
from actors.store.rounds import ROUNDS
from prism.agents.waves import Kind
from prism.events import KINDS
from prism.rows import Part, TickRows, columns_of, read_rows
from prism.social.kernels import feed_kernel
from tests.actors.cli.conftest import Made
from tests.catalogue import catalogue
from tests.command import Ended, Prism
from tests.durability.process_runs import undo_seals
from tests.own_domains import CROSSING, Study, path_restored, write_study
from tests.recorded import Recorded

LATEST = "checkpoint-000000000036.bin"
Change = Callable[[bytes], bytes | None]
"""What is made of a file's content; None removes it."""


@pytest.fixture
def run(few_run: Path, tmp_path: Path) -> Path:
    """Return a copy of a run of 36 ticks, in `run`."""
    return shutil.copytree(few_run, tmp_path / "run")


def lines(ended: Ended) -> dict[str, str]:
    """Return `{file: the report on it}`."""
    return dict(line.partition("/")[2].split(": ", 1) for line in ended.out.splitlines())


def becomes(content: bytes | None) -> Change:
    return lambda _: content


def flipped(byte: int) -> Change:
    return lambda data: data[:byte] + bytes([data[byte] ^ 4]) + data[byte + 1 :]


def edited(before: str, after: str) -> Change:
    def edit(data: bytes) -> bytes:
        assert before.encode() in data
        return data.replace(before.encode(), after.encode(), 1)

    return edit


def rows(change: Callable[[list[str]], list[str]]) -> Change:
    return lambda data: "".join(change(data.decode().splitlines(keepends=True))).encode()


def test_whole_files_are_ok_and_stay_as_they_are(run: Path, prism: Prism) -> None:
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    ended = prism("verify", "run")
    assert (ended.code, ended.err) == (0, "")
    told = lines(ended)
    assert re.fullmatch(r"ok: 36 ticks of 24 agents, [0-9,]+ bytes, digest [0-9a-f]{32}", told[JOURNAL])
    assert (told[ANSWERS], told[LATEST], told[ROUNDS]) == ("ok: 0 answers", "ok: after 36 ticks", "ok: rounds 1 to 3")
    assert told[CONFIG] == "ok: the settings of the journal's header"
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before


def test_a_flipped_bit_is_named_by_byte_and_tick(run: Path, prism: Prism) -> None:
    journal = run / JOURNAL
    middle = journal.stat().st_size // 2
    journal.write_bytes(flipped(middle)(journal.read_bytes()) or b"")
    ended = prism("verify", "run")
    told = re.fullmatch(
        r"BAD: damaged at byte (\d+), in tick \d+: a frame's CRC32 does not match its content; "
        r"([0-9,]+) bytes cannot be used",
        lines(ended)[JOURNAL],
    )
    assert (ended.code, told is None) == (1, False)
    assert told is not None
    assert int(told[1]) <= middle
    assert int(told[1]) + int(told[2].replace(",", "")) == journal.stat().st_size
    assert lines(ended)[LATEST].startswith("ok: after 36 ticks; its place in the journal lies behind the damage")


@catalogue(
    ("name", "change", "told"),
    [
        (JOURNAL, lambda data: data[:-10], "damaged at byte "),
        (JOURNAL, becomes(None), "there is none"),
        (LATEST, flipped(900), "damaged at byte "),
        (ANSWERS, becomes(b""), "damaged at byte 0: it does not begin with b'PRISMA"),
        (ANSWERS, becomes(None), "is missing"),
        (
            ANSWERS,
            becomes(b"PRISMA\r\n\x09\x00"),
            "damaged at byte 8, after 0 answers: ends 2 bytes into a frame's head",
        ),
        (SUMMARY, becomes(b'{"digest":'), "cannot be read"),
        (MANIFEST, becomes(b"{"), "is not what PRISM writes: "),
        (CONFIG, becomes(b"simulation: {rounds: many}"), "line 1: simulation.rounds: expected int"),
        (CONFIG, becomes(None), "cannot be read: No such file or directory"),
        (
            CONFIG,
            edited("algorithm: interest", "algorithm: hot"),
            'feed.algorithm is "hot", was "interest" when the run began',
        ),
        (CONFIG, edited("seed: 5", "seed: 6"), "simulation.seed is 6, was 5 when the run began"),
        (CONFIG, edited("  ticks: null", "  ticks: 35"), "ends the run after 35 ticks, and the journal has 36"),
        (ROUNDS, becomes(b""), "has no row of round 1"),
        (ROUNDS, rows(lambda all_: all_[:3]), "has no row of round 3"),
        (ROUNDS, rows(lambda all_: [all_[0], *all_[2:]]), "what follows its header is not the row of the next round"),
        (ROUNDS, rows(lambda all_: [*all_[:2], all_[3]]), "what follows round 1 is not the row of the next round"),
        (ROUNDS, rows(lambda all_: [*all_, all_[3]]), "what follows round 3 is not the row of the next round"),
        (ROUNDS, rows(lambda all_: [*all_[:3], all_[3][:-3]]), "what follows round 2 is not the row of the next round"),
        (
            ROUNDS,
            rows(lambda all_: [*all_, all_[3].replace("3,36,", "4,48,")]),
            "has a row of round 4, and the journal 3 whole rounds",
        ),
        (ROUNDS, edited("round", "Round"), "it does not begin with the names of its columns"),
        (ROUNDS, lambda data: data.removesuffix(b"\n") + b"\r\n", "what follows round 2 is not the row of the next"),
    ],
)
def test_what_was_changed_of_a_file_is_told(name: str, change: Change, told: str, few_run: Path, prism: Prism) -> None:
    shutil.rmtree("run", ignore_errors=True)
    path = Path(shutil.copytree(few_run, "run")) / name
    content = change(path.read_bytes())
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    ended = prism("verify", "run")
    assert (ended.code, ended.err) == (1, "")
    assert lines(ended)[name].startswith(f"BAD: {told}"), ended.out
    assert ended.out.count("BAD") == 1 or name not in {ROUNDS, CONFIG, LATEST, MANIFEST}, ended.out


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["live", "changes", "economy"])
def test_every_kind_of_run_is_good(kind: str, recorded: Recorded, prism: Prism) -> None:
    ended = prism("verify", str(recorded(kind)))
    assert (ended.code, "BAD" in ended.out) == (0, False), ended.out


@pytest.mark.slow
def test_of_a_run_that_crashed_while_it_was_made_longer_rows_up_to_its_checkpoint_must_be_there(prism: Prism) -> None:
    assert prism("run", "small.yaml", "-q", "--ticks", "48", "--out", "made").code == 0
    kept = {name: Path("made", name).read_bytes() for name in (SUMMARY, "checkpoint-000000000048.bin")}
    assert prism("resume", "made", "-q", "--ticks", "100").code == 0
    for path in Path("made").glob("checkpoint-*.bin"):
        path.unlink()
    for name, content in kept.items():
        Path("made", name).write_bytes(content)
    whole = Path("made", ROUNDS).read_text().splitlines(keepends=True)
    Path("made", ROUNDS).write_text("".join(whole[:3]))
    undo_seals(Path("made"))
    ended = prism("verify", "made")
    told = "ok: rounds 1 to 2 of 4; `prism resume` writes the others again"
    assert (ended.code, "BAD" in ended.out, lines(ended)[ROUNDS]) == (0, False, told)
    Path("made", ROUNDS).write_text("".join(whole[:2]))
    assert lines(prism("verify", "made"))[ROUNDS] == "BAD: has no row of round 2"


@catalogue("options", [(), ("--quick",)])
def test_a_digit_of_a_row_is_found_and_mended_by_a_resume(
    options: tuple[str, ...], few_run: Path, prism: Prism
) -> None:
    shutil.rmtree("run", ignore_errors=True)
    path = Path(shutil.copytree(few_run, "run")) / ROUNDS
    good = path.read_bytes()
    all_ = path.read_text().splitlines(keepends=True)
    cells = all_[2].split(",")
    cells[3] = str(int(cells[3]) + 1)
    path.write_text("".join([*all_[:2], ",".join(cells), *all_[3:]]))
    ended = prism("verify", "run", *options)
    told = f"round 2: {all_[0].split(',')[3]} is {cells[3]}, and a replay gives {int(cells[3]) - 1}"
    assert (ended.code, ended.out.count("BAD")) == (1, 1)
    assert lines(ended)[ROUNDS] == "BAD: " + ("is not what the run has written" if options else told)
    resumed = prism("resume", "run", "-q")
    assert "rounds.csv: rows up to the latest checkpoint are missing or damaged, and are written again" in resumed.err
    assert (resumed.code, path.read_bytes()) == (0, good)


def test_what_another_code_gives_is_no_damage(run: Path, prism: Prism, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("actors.runs.verify.changed_code", lambda *_: ["PRISM's code has changed"])

    async def diverged(*_: object) -> None:
        raise DivergedError(3, "agent 1 answers otherwise")

    monkeypatch.setattr("actors.runs.verify.replay", diverged)
    ended = prism("verify", str(run))
    assert (ended.code, "BAD" in ended.out) == (0, False)
    told = "not checked: rounds 1 to 3; not worked out again, because the code has "
    assert f"{ROUNDS}: {told}" in ended.out


def test_an_accepted_setting_is_named_and_no_damage(made: Made, prism: Prism) -> None:
    shutil.copytree(made("--ticks", "60"), "made")
    assert prism("resume", "made", "-q", "--ticks", "61", "--set", "llm.model=other", "--accept-settings").code == 0
    ended = prism("verify", "made")
    told = "ok: the settings of the journal's header, except llm.model, changed with --accept-settings"
    assert (ended.code, lines(ended)[CONFIG]) == (0, told)


def test_a_manifest_that_says_something_else_is_told_and_mended(run: Path, prism: Prism) -> None:
    path = run / MANIFEST
    path.write_bytes(edited('"oracle": "embedded', '"oracle": "imbedded')(path.read_bytes()) or b"")
    told = lines(prism("verify", "run"))
    assert told[MANIFEST] == "BAD: is not what the run has written: its seal is that of another content"
    resumed = prism("resume", "run", "-q")
    assert resumed.code == 0
    assert resumed.err.startswith(f"prism: {MANIFEST}: is not what the run has written; what it says of the run's past")
    assert prism("verify", "run", "--quick").code == 0


def test_an_input_file_that_is_another_is_named(prism: Prism) -> None:
    Path("ties.txt").write_text("1 2\n2 3\n3 1\n")
    graph = ("--set", "population.graph.path=ties.txt")
    assert prism("run", "small.yaml", "-q", *graph, "--ticks", "9", "--out", "made").code == 0
    (kept,) = Path("made", "inputs").glob("*/ties.txt")
    for content, told in ((b"1 2\n2 3\n3 1\n1 3\n", "is not what the run has kept (sha256 "), (None, "is missing")):
        kept.unlink()
        if content is not None:
            kept.write_bytes(content)
        ended = prism("verify", "made")
        assert (ended.code, ended.out.count("BAD")) == (1, 1)
        assert f"\n{kept}: BAD: {told}" in ended.out


Done = tuple[int, Kind]
"""An update: its agent and its kind."""


@pytest.fixture
def whole(small_run: Path, tmp_path: Path) -> Path:
    """A run of 72 ticks."""
    return shutil.copytree(small_run, tmp_path / "whole")


def forge(run: Path, change: Callable[[int, list[Done]], None]) -> None:
    """Rewrite every tick's updates, and everything that a forger has to make right again: CRCs, links, checkpoints."""
    disk, record = RealDisk(run), Record(run)
    all(record.blocks(wanted={}))  # the kinds are known after that
    made, link = [disk.read(JOURNAL, 0, read_tail(disk).at)], ORIGIN
    for frame in read_ticks(disk):
        assert isinstance(frame, TickFrame)
        payload, (_, known, tables) = frame.payload, read_rows(frame.payload, record.shapes)
        if "updates" in tables:
            waves, (agents, codes) = tables["updates"]
            updates = [(agent, record.kinds[code]) for agent, code in zip(agents.tolist(), codes, strict=True)]
            change(frame.tick, changed := [*updates])
            if changed != updates:
                new = record.kinds[known : known + len(tables["kinds"].columns[0])] if "kinds" in tables else []
                new += [kind for _, kind in changed if kind not in record.kinds[: known + len(new)]]
                kinds, left = [*record.kinds[:known], *new], waves[-1] + len(changed) - len(updates)
                numbers = [kinds.index(kind) for _, kind in changed]
                tables["kinds"] = Part((len(new),), (*columns_of(KINDS, new),))
                tables["updates"] = Part(
                    (*waves[:-1], left), (np.array([each for each, _ in changed]), np.array(numbers))
                )
                rows = TickRows(record.shapes)
                for wave in range(max(len(part.waves) for part in tables.values())):
                    for table, part in tables.items():
                        rows.add(table, *part.of_wave(wave))
                    rows.end_wave()
                payload = rows.take(frame.tick, known)
        link = link_of(link, payload)
        made.append(encode_frame(link, payload))
    (run / JOURNAL).write_bytes(b"".join(made))
    for path in run.glob("checkpoint-*"):
        path.unlink()


def test_a_run_replays_to_its_own_digest_and_writes_nothing(whole: Path, prism: Prism) -> None:
    before = {path.name: path.read_bytes() for path in whole.iterdir()}
    digest = json.loads((whole / SUMMARY).read_text())["digest"]
    ended = prism("replay", "whole")
    assert (ended.code, ended.out) == (0, f"whole: 72 ticks replayed, every one as recorded; digest {digest}\n")
    assert {path.name: path.read_bytes() for path in whole.iterdir()} == before


def test_a_flipped_decision_and_an_answer_left_out_are_named(whole: Path, small_run: Path, prism: Prism) -> None:
    forged: list[Any] = []

    def flip(tick: int, updates: list[Done]) -> None:
        for place, (agent, kind) in enumerate(updates):
            if not forged and tick >= 20 and kind.source == "oracle":
                other = "composing" if kind.to_state != "composing" else "scrolling"
                forged.extend((tick, agent, kind.to_state, other))
                updates[place] = agent, kind._replace(to_state=other)

    forge(whole, flip)
    tick, agent, was, is_now = forged
    ended = prism("replay", "whole")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.splitlines()[-1] == (
        f"prism: tick {tick} came out differently than in the journal: "
        f"agent {agent}: to_state is {is_now!r} in the journal and {was!r} in the new run"
    )
    assert prism("replay", "whole", "-q", "--ticks", str(tick)).code == 0, "up to there all is well"

    def leave_out(tick: int, updates: list[Done]) -> None:
        if tick == 25:
            forged[:] = updates.pop()

    forge(Path(shutil.copytree(small_run, "other")), leave_out)
    ended = prism("replay", "other", "-q")
    assert ended.code == 1
    assert ended.err.startswith("prism: tick 25 came out differently than in the journal: the journal has ")
    assert ended.err.endswith(f"the new run Update of agent {forged[0]} to {forged[1].trigger!r}\n")


def test_a_replay_with_other_settings_says_so_instead_of_a_difference(whole: Path, prism: Prism) -> None:
    config = whole / "config.yaml"
    config.write_text(config.read_text().replace("algorithm: interest", "algorithm: hot"))
    ended = prism("replay", "whole")
    assert ended.code == 2
    assert 'feed.algorithm is "hot", was "interest" when the run began' in ended.err


CODE = ('"code": "', '"code": "0')
OTHER_CODE = "PRISM's code has changed (sha256 "
REMEDY = (
    "Resume it with the code that it was run with, or branch off with `prism fork`, which does its ticks again with "
    "this code.\n"
)


@pytest.fixture
def begun(made: Made, tmp_path: Path) -> Path:
    """Return a run of 60 ticks with checkpoints after 48 and 60, `begun`, which other code has begun."""
    run = Path(shutil.copytree(made("--ticks", "60", "--set", "run.checkpoint_every_ticks=48"), tmp_path / "begun"))
    change(run, *CODE)
    return run


def change(run: Path, before: str, after: str) -> None:
    """Make it a run that was begun with other code."""
    text = (run / MANIFEST).read_text()
    assert before in text
    (run / MANIFEST).write_text(text.replace(before, after, 1))
    RunDirectory(run).write_manifest(read_manifest(run))  # with the seal of the new content


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (*CODE, OTHER_CODE),
        ('"msgspec": "', '"msgspec": "0.', "msgspec is "),
        ('"numpy"', '"nunpy"', "nunpy is unknown to this version, was "),
    ],
)
def test_other_code_is_refused_in_one_line_and_nothing_changes(
    before: str, after: str, told: str, begun: Path, prism: Prism
) -> None:
    change(begun, *CODE[::-1])
    change(begun, before, after)
    was = {path.name: path.read_bytes() for path in begun.iterdir()}
    ended = prism("resume", "begun", "-q", "--ticks", "72")
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert ended.err.startswith(f"prism: begun: cannot continue: {told}")
    assert ended.err.endswith(REMEDY)
    with pytest.raises(RunDirectoryError, match="cannot continue"):
        resume(begun, ticks=72)
    assert {path.name: path.read_bytes() for path in begun.iterdir()} == was


@pytest.mark.usefixtures("begun")
def test_a_fork_does_the_ticks_again_and_a_replay_that_differs_names_other_code(
    prism: Prism, small_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = prism("fork", "begun", "--at", "60", "--ticks", "72", "-q", "--out", "forked")
    assert ended.out.strip() == json.loads((small_run / "summary.json").read_text())["digest"]
    assert prism("resume", "forked", "-q", "--ticks", "73").code == 0
    assert prism("replay", "begun", "-q").err == ""
    comes_first: Callable[..., Any] = feed_kernel.comes_first
    monkeypatch.setattr(feed_kernel, "comes_first", lambda *given: not comes_first(*given))  # other results
    for ended in (prism("replay", "begun", "-q"), prism("fork", "begun", "--at", "60", "-q", "--out", "another")):
        assert ended.code == 1
        assert f"; {OTHER_CODE}" in ended.err


CHANGED = "the domain's own code has changed (sha256 "


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return write_study(tmp_path / "study")


@pytest.fixture
def own(prism: Prism, study: Study) -> Prism:
    """Return `prism`, where each command imports the domain anew; there is a run of 15 of its 30 ticks in `run`."""

    def run(*arguments: str) -> Ended:
        with path_restored():
            return prism(*arguments)

    good(run("run", str(study.config), "-q", "--out", "run", "--ticks", "15"))
    return run


def good(ended: Ended) -> str:
    assert ended.code == 0, ended.err
    return ended.out


def test_a_run_is_resumed_replayed_verified_and_forked_from_anywhere(study: Study, own: Prism) -> None:
    whole = good(own("run", str(study.config), "-q", "--out", "whole"))
    assert good(own("resume", "run", "-q", "--ticks", "30")) == whole
    assert whole.strip() in good(own("replay", "run"))
    assert "BAD" not in good(own("verify", "run"))
    assert good(own("fork", "run", "-q", "--at", "20", "--out", "fork")) == whole
    assert "done" in good(own("runs", "."))


def test_the_doctor_asks_the_oracle_the_first_question_of_the_run(study: Study, own: Prism) -> None:
    assert "embedded, no server; answered 'green' in " in good(own("doctor", str(study.config)))
    one_tick = good(own("doctor", str(study.config), "--set", "simulation.ticks=1"))
    assert "embedded, no server; not asked, because" in one_tick


def test_other_code_and_settings_are_refused_and_a_fork_goes_on_with_them(study: Study, own: Prism) -> None:
    study.file.write_text(f"{CROSSING}\nX = 1\n")
    assert own("resume", "run", "--ticks", "20").code == 0  # with the code that it has kept
    edited = ("--trust", "--set", f"simulation.domain_path={study.path}")
    refused = own("resume", "run", "--ticks", "25", *edited)
    assert (refused.code, CHANGED in refused.err) == (2, True)
    assert own("replay", "run").code == 0
    good(own("fork", "run", "-q", "--at", "20", "--ticks", "25", "--out", "fork", *edited))
    before, after = (json.loads(Path(each, MANIFEST).read_text())["domain_code"] for each in ("run", "fork"))
    assert before != after
    refused = own("resume", "run", "--set", "domain.lights=4")
    assert (refused.code, "domain.lights is 4, was 3 when the run began" in refused.err) == (2, True)
    forked = own("fork", "run", "--at", "10", "--set", "domain.lights=4", "--out", "other")
    assert (forked.code, "it would have 4 agents, and its past has 3" in forked.err) == (2, True)
    assert not Path("other").exists()
