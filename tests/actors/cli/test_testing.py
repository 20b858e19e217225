"""`prism testing`: the server from a shell, its faults, and its counts."""

import json
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest

from actors.testing import Fault, FaultPlan, ModelServer
from tests.actors.testing.test_server import CHAT
from tests.command import Prism, begin
from tests.patience import HANG_S


def test_it_says_where_it_listens_how_to_try_it_and_at_ctrl_c_what_it_was_asked(tmp_path: Path) -> None:
    log = tmp_path / "requests.log"
    words = ("testing", "serve", "--port", "0", "--fault-at", "2=error", "--fault-at", "3=reset", "--log", log)
    with begin(*words) as process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            url = process.stdout.readline().removeprefix("listening on ").strip()
            with httpx.Client(base_url=url, trust_env=False, timeout=HANG_S) as client:
                assert [client.post("/api/chat", json=CHAT).status_code for _ in range(2)] == [200, 500]
                with pytest.raises(httpx.TransportError):
                    client.post("/api/chat", json=CHAT)
                assert client.post("/api/chat", json=CHAT).status_code == 200
            process.send_signal(signal.SIGINT)
            said, problem = process.stdout.read().splitlines(), process.stderr.read()  # what is buffered, too
            assert (process.wait(HANG_S), problem) == (0, "")
        finally:
            process.kill()
    assert f"  prism run ollama/prism.yaml --set llm.host={url}" in said
    counts = dict(line.strip().split("  ", 1) for line in said[said.index("") + 1 :])
    assert counts.pop("calls").strip().startswith("4 in ")
    assert {name: text.strip() for name, text in counts.items()} == {
        "failed as told": "2",
        "reset": "1",
        "error": "1",
        "given up by the client": "0",
        "requests by status": "200: 2, 500: 1, none: 1",
        "in slots at once": "1 at most",
    }
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    expected = [(1, None, 200), (2, "error", 500), (3, "reset", None), (4, None, 200)]
    assert [(line["call"], line["fault"], line["status"]) for line in lines] == expected
    assert lines[0]["body"] == CHAT


def test_every_option_reaches_the_server(monkeypatch: pytest.MonkeyPatch, prism: Prism) -> None:
    made: list[ModelServer] = []

    def make(*arguments: Any, **options: Any) -> ModelServer:
        made.append(ModelServer(*arguments, **options))
        return made[-1]

    monkeypatch.setattr("signal.pause", lambda: None)
    monkeypatch.setattr("actors.cli.testing.ModelServer", make)
    options = "--port 0 --model a --model b --latency 2 --faults 0.08 --fault hang=0.5 --fault-at 3=cut"
    ended = prism("testing", "serve", *options.split())
    assert ended.code == 0, ended.err
    assert f"--set llm.host={made[0].url} --set llm.model=a" in ended.out
    settings = made[0].settings
    assert (settings.models, settings.latency.mean_s) == (("a", "b"), 2)
    even = dict.fromkeys(Fault, 0.01)
    assert settings.faults == FaultPlan(shares={**even, Fault.HANG: 0.5}, at={3: Fault.CUT})
