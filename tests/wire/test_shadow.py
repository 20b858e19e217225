"""Shadow questions over a socket: the run stays as it is, and a resume does not pay twice."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from actors.core.frames import Damage
from actors.core.messages import Shadowed
from actors.persistence.disk import RealDisk
from actors.persistence.oracle_log import read_records
from actors.testing import ModelServer
from tests.command import Prism, run_prism

pytestmark = [pytest.mark.network, pytest.mark.long]

SECTIONS: dict[str, Any] = {
    "simulation": {"rounds": 2},
    "population": {"size": 150},
    "llm": {"systemone": "off"},
    "run": {"checkpoint_every_ticks": 0},
}


def summary(out: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((Path(out) / "summary.json").read_text())
    return loaded


def shadowed(out: str) -> list[Shadowed]:
    records = [found[0] for found in read_records(RealDisk(Path(out))) if not isinstance(found, Damage)]
    return [record for record in records if isinstance(record, Shadowed)]


def test_shadow_questions_leave_the_journal_as_it_is_and_are_paid_once(
    prism: Prism, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = partial(run_prism, monkeypatch, capsys)
    with ModelServer() as server:
        plain = prism(server.url, out="plain", **SECTIONS)
        usual = summary("plain")
        before = len(server.calls)
        shadow = prism(server.url, out="shadow", **SECTIONS, oracle={"shadow": 0.3})
        asked = len(server.calls) - before
        assert (plain.code, shadow.code, shadow.out) == (0, 0, plain.out)
        assert Path("shadow/journal.prism").read_bytes()[-64:] == Path("plain/journal.prism").read_bytes()[-64:]
        found = summary("shadow")
        assert found["divergence"] == usual["divergence"]
        assert {name: found[name] for name in ("posts", "likes", "replies", "reshares", "oracle_calls")} == {
            name: usual[name] for name in ("posts", "likes", "replies", "reshares", "oracle_calls")
        }
        outcomes = found["shadow"]["outcomes"]
        assert outcomes["answered"] > 20
        assert len(shadowed("shadow")) == outcomes["answered"]
        assert found["shadow"]["divergence"][0]["against"].keys() == {"rule", "embedded"}
        assert asked == before + outcomes["answered"]
        (Path("shadow") / "summary.json").unlink()
        for checkpoint in Path("shadow").glob("checkpoint-*.bin"):
            checkpoint.unlink()
        calls = len(server.calls)
        resumed = command("resume", "shadow", "--quiet")
        assert (resumed.code, resumed.out) == (0, shadow.out)
        # Only the check of the server at the start is made again: no question, and no shadow question.
        assert len(server.calls) - calls < 5
        assert summary("shadow")["shadow"] == found["shadow"]
        assert summary("shadow")["llm"]["calls"] == found["llm"]["calls"]
    assert command("replay", "shadow", "--quiet").out == shadow.out
    assert command("verify", "shadow").code == 0
