"""A reader that knows PRISM only from docs/runs.md reads what real runs have left."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.actors.persistence.independent_reader import frames, read_run
from tests.paths import ROOT
from tests.recorded import DELIBERATION_TICKS, EMBEDDED, make_run

PAGE = (ROOT / "docs" / "runs.md").read_text(encoding="utf-8")
UPDATE, QUESTION, DECIDED = 2, 3, 4


def summary_of(run: Path) -> dict[str, Any]:
    summary: dict[str, Any] = msgspec.json.decode((run / "summary.json").read_bytes())
    return summary


def of_kind(ticks: list[Any], kind: int) -> list[Any]:
    return [answer for answers in ticks for answer in answers if answer[0] == kind]


def test_the_page_leads_to_this_reader_which_needs_no_code_of_prism() -> None:
    for name, most in (("independent_reader", 140), ("tree_reader", 40)):
        assert f"(../tests/actors/persistence/{name}.py)" in PAGE
        source = Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8")
        assert len(source.splitlines()) <= most
        assert not re.search(r"^(from|import) (prism|actors)", source, re.MULTILINE)


def test_its_counts_are_those_of_the_summary(embedded: Path) -> None:
    header, ticks, digest, decided = read_run(embedded)
    summary = summary_of(embedded)
    updates = of_kind(ticks, UPDATE)
    sources = Counter(update[6] for update in updates)
    states = ["idle"] * header["agents"]
    for update in updates:
        assert states[update[2]] == update[4]
        states[update[2]] = update[5]
    assert (len(ticks), digest) == (summary["ticks"], summary["digest"])
    assert (header["seed"], header["agents"]) == (summary["seed"], summary["agents"])
    assert sources == +Counter(summary["decisions_by_source"] | summary["unmoved_by_source"])
    assert Counter(states) == +Counter(summary["agents_by_state"])
    assert len(of_kind(ticks, QUESTION)) == summary["oracle_questions"] > 0
    assert decided == []  # the embedded oracle computes its answers again


def test_sealed_ticks_are_those_of_the_run_that_sealed_none(embedded: Path, tmp_path: Path) -> None:
    sealed = make_run(tmp_path, {**EMBEDDED, "run": {"segment_mb": 0.02}})
    names = sorted(path.name for path in sealed.glob("journal-*"))
    header, ticks, digest, _ = read_run(sealed)
    assert len(names) >= 3
    assert (ticks, digest) == read_run(embedded)[1:3]
    assert header["sealed"]["tick"] > len(ticks) / 2
    stale = sealed / f"journal-{header['sealed']['start']:015d}.seg"
    stale.write_bytes(b"of a crash")
    assert read_run(sealed)[1] == ticks
    (sealed / names[1]).rename(sealed / "away")
    with pytest.raises(ValueError, match="sealed ticks"):
        read_run(sealed)
    (sealed / names[1]).write_bytes((sealed / names[0]).read_bytes())
    with pytest.raises(ValueError, match=r"does not follow|sealed ticks"):
        read_run(sealed)


def test_every_decision_of_a_model_is_in_the_oracles_log(live: Path) -> None:
    _, ticks, _, decided = read_run(live)
    summary = summary_of(live)
    asked = {(question[1], question[2], question[3]) for question in of_kind(ticks, QUESTION)}
    answered = {(answer[1], answer[2], answer[3]): answer for answer in decided}
    settled = [update for update in of_kind(ticks, UPDATE) if update[6] == "llm"]
    assert all(answer[0] == DECIDED for answer in decided)
    assert len(answered) == len(decided) == summary["oracle_calls"] > 0
    assert answered.keys() <= asked
    assert len(settled) == summary["decisions_by_source"]["llm"] > 0
    for update in settled:
        assert answered[update[1] - DELIBERATION_TICKS, update[2], update[3]][4] == update[5]


@pytest.mark.parametrize("file", ["journal.prism", "oracle.log"])
def test_it_notices_any_flipped_byte(live: Path, tmp_path: Path, file: str) -> None:
    for name in ("journal.prism", "oracle.log"):
        (tmp_path / name).write_bytes((live / name).read_bytes())
    whole = (live / file).read_bytes()
    for offset in range(0, len(whole), max(1, len(whole) // 60)):
        changed = bytearray(whole)
        changed[offset] ^= 1 << offset % 8
        (tmp_path / file).write_bytes(changed)
        with pytest.raises(ValueError, match=file):
            read_run(tmp_path)


def test_it_notices_a_tick_that_was_taken_out(embedded: Path, tmp_path: Path) -> None:
    data = (embedded / "journal.prism").read_bytes()
    payloads = [payload for payload, _ in frames(embedded / "journal.prism", b"PRISMJ\r\n")]
    start = 8 + sum(40 + len(payload) for payload in payloads[:5])
    (tmp_path / "journal.prism").write_bytes(data[:start] + data[start + 40 + len(payloads[5]) :])
    (tmp_path / "oracle.log").write_bytes((embedded / "oracle.log").read_bytes())
    with pytest.raises(ValueError, match="tick 5 does not follow"):
        read_run(tmp_path)
