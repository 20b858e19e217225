"""The spans of whole runs, as a collector gets them over a socket, beside what the model's server saw."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

pytest.importorskip("opentelemetry.sdk", reason="the packages of the extra `otel` are not installed")

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from actors import resume, run
from actors.core.ports import Observer
from actors.metrics import spans as module
from actors.metrics.spans import Spans
from actors.testing import Exchange, Fault, FaultPlan, ModelServer, ServerSettings
from prism.config import Config
from tests.llm.support import ADDRESS_IN_USE_BY_NOBODY
from tests.paths import ROOT
from tests.patience import HANG_S

ERROR = 2
"""The code of a span that failed."""


class Span(NamedTuple):
    """A span as a collector gets it."""

    name: str
    trace: str
    id: str
    parent: str
    attributes: dict[str, Any]
    is_error: bool
    start_ns: int
    end_ns: int


class Collector:
    """A collector of spans, on a port that is free, in a thread of its own."""

    def __init__(self) -> None:
        self.requests: list[Any] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.requests.append(ExportTraceServiceRequest.FromString(body))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Print nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def resource(self) -> dict[str, Any]:
        return values(self.requests[0].resource_spans[0].resource.attributes)

    def spans(self, *names: str) -> list[Span]:
        """Return the spans of these names; of all, if none is given."""
        got = [
            Span(
                each.name,
                each.trace_id.hex(),
                each.span_id.hex(),
                each.parent_span_id.hex(),
                values(each.attributes),
                each.status.code == ERROR,
                each.start_time_unix_nano,
                each.end_time_unix_nano,
            )
            for request in self.requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for each in scope.spans
        ]
        return [each for each in got if not names or each.name in names]


def values(attributes: Any) -> dict[str, Any]:
    return {each.key: value_of(each.value) for each in attributes}


def value_of(value: Any) -> Any:
    kind = value.WhichOneof("value")
    return [value_of(each) for each in value.array_value.values] if kind == "array_value" else getattr(value, kind)


@pytest.fixture(autouse=True)
def _nothing_blocks() -> None:
    """Let these tests block: both servers have threads of their own."""


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    collector = Collector()
    thread = threading.Thread(target=collector.server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    yield collector
    collector.server.shutdown()
    thread.join()
    collector.server.server_close()


def config(server: ModelServer, *, rounds: int = 2, tracing: bool = True) -> Config:
    settings = {
        "simulation": {"rounds": rounds, "ticks_per_round": 24, "seed": 7},
        "population": {"size": 40, "ambiguity": 0.4, "activity": {"mean": 0.9}},
        "oracle": {"backend": "openai"},
        "llm": {"host": server.url},
        "metrics": {"tracing": tracing},
    }
    return msgspec.convert(settings, Config)


def named(server: ModelServer) -> list[Exchange]:
    return [each for each in server.calls if each.request_id]


def test_calls_are_below_questions_below_ticks_and_the_server_was_told_the_same_ids(
    collector: Collector, tmp_path: Path
) -> None:
    with ModelServer() as server:
        untraced = run(config(server, tracing=False))
        server.settings = ServerSettings(faults=FaultPlan(at={len(server.calls) + 6: Fault.ERROR}))
        before = len(named(server))
        traced = run(config(server), out=tmp_path / "study")
        seen = named(server)[before:]
    assert traced.summary.digest == untraced.summary.digest
    ticks, questions, calls = (
        {each.id: each for each in collector.spans(name)} for name in ("tick", "question", "call")
    )
    assert len(ticks) == 48
    assert {each.parent for each in ticks.values()} == {""}
    for question in questions.values():
        assert ticks[question.parent].trace == question.trace
        assert ticks[question.parent].attributes["prism.tick"] == question.attributes["prism.tick"]
    for call in calls.values():
        assert questions[call.parent].trace == call.trace
        assert questions[call.parent].attributes["prism.question.id"] == call.attributes["prism.question.id"]
    assert {each.traceparent for each in seen} == {f"00-{each.trace}-{each.id}-01" for each in calls.values()}
    assert {tuple(each.request_id.split("-")[:4]) for each in seen} == {
        (*each.attributes["prism.question.id"].split("-"), str(each.attributes["prism.attempt"]))
        for each in calls.values()
    }
    assert collector.resource().items() >= {
        ("service.name", "prism"),
        ("prism.run", "study"),
        ("prism.seed", "7"),
        ("prism.domain", "social"),
    }


def test_spans_say_what_happened(collector: Collector, tmp_path: Path) -> None:
    with ModelServer() as server:
        server.settings = ServerSettings(faults=FaultPlan(at={6: Fault.ERROR}))
        result = run(config(server), out=tmp_path / "study")
    assert sum(each.attributes["prism.updates"] for each in collector.spans("tick")) > 100
    commits = collector.spans("commit")
    assert sum(each.attributes["prism.ticks"] for each in commits) == result.summary.ticks == 48
    journal = (tmp_path / "study" / "journal.prism").stat().st_size
    assert 0.5 * journal < sum(each.attributes["prism.bytes"] for each in commits) < journal
    by_question = defaultdict(list)
    for call in collector.spans("call"):
        by_question[call.attributes["prism.question.id"]].append(call)
        assert call.attributes["server.port"] == server.port
        assert call.start_ns <= call.end_ns
    [tried_twice] = [each for each in by_question.values() if len(each) == 2]
    failed, answered = sorted(tried_twice, key=lambda each: each.attributes["prism.attempt"])
    assert (failed.is_error, answered.is_error) == (True, False)
    assert failed.attributes["error.type"] == failed.attributes["prism.outcome"] == "server_error"
    assert answered.attributes["prism.outcome"] == "ok"
    assert (
        answered.attributes["gen_ai.usage.input_tokens"] > 100 > answered.attributes["gen_ai.usage.output_tokens"] > 0
    )
    for question in collector.spans("question"):
        told = question.attributes
        assert told["prism.decision"] in told["prism.options"]
        assert (told["prism.source"], told["prism.method"], told["prism.state"]) == ("llm", "json", "evaluating")
        assert told["prism.question.id"].startswith(f"{told['prism.tick']}-{told['prism.agent']}-")


@pytest.mark.everyday(1)
@pytest.mark.parametrize("from_checkpoint", [True, False])
def test_a_resumed_run_makes_each_tick_one_span_with_its_own_updates(
    from_checkpoint: bool, collector: Collector, tmp_path: Path
) -> None:
    with ModelServer() as server:
        run(config(server), ticks=20)
        whole = collector.spans("tick")
        run(config(server), out=tmp_path / "study", ticks=10)
        if not from_checkpoint:
            for file in (tmp_path / "study").glob("checkpoint-*.bin"):
                file.unlink()
        resume(tmp_path / "study", ticks=20)
    ticks = collector.spans("tick")[len(whole) :]
    assert [each.attributes for each in ticks] == [each.attributes for each in whole]
    assert len({each.trace for each in ticks}) == len(ticks) == 20


def test_the_sampler_of_the_environment_takes_whole_traces_and_the_server_is_told(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0.5")
    with ModelServer() as server:
        run(config(server, rounds=3))
        seen = [each.traceparent.split("-") for each in named(server)]
    recorded = {each.trace for each in collector.spans("tick")}
    assert 15 < len(recorded) < 57
    assert {each.trace for each in collector.spans()} == recorded
    flags = Counter((trace in recorded, flag) for _, trace, _, flag in seen)
    assert set(flags) == {(True, "01"), (False, "00")}


@pytest.mark.slow
def test_a_collector_that_is_away_costs_no_result_and_little_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", ADDRESS_IN_USE_BY_NOBODY)
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "16")
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "8")
    monkeypatch.setattr(module, "LAST_SPANS_S", 0.01)
    with ModelServer() as server:
        untraced = run(config(server, tracing=False))
        traced = run(config(server), out=tmp_path / "study")
    assert traced.summary.digest == untraced.summary.digest
    events = [msgspec.json.decode(line) for line in (tmp_path / "study" / "log.jsonl").read_bytes().splitlines()]
    assert "spans_unsent" in {each["event"] for each in events}
    for thread in threading.enumerate():
        if thread.name.startswith("Otel") or thread.name == "last-spans":
            thread.join(HANG_S)
            assert not thread.is_alive()


def test_every_attribute_is_documented(collector: Collector, tmp_path: Path) -> None:
    with ModelServer() as server:
        server.settings = ServerSettings(faults=FaultPlan(at={6: Fault.ERROR}))
        run(config(server), out=tmp_path / "study")
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    table = page.partition("### Spans")[2].partition("## Alerts")[0].splitlines()
    rows = {line.split("`")[1]: line for line in table if line.startswith("| `")}
    told = {
        (each.name, attribute.removeprefix("prism.")) for each in collector.spans() for attribute in each.attributes
    }
    assert {name for name, _ in told} == {"tick", "question", "call", "commit"}
    assert [(name, attribute) for name, attribute in told if f"`{attribute}`" not in rows[name]] == []


def test_a_setting_of_the_environment_that_cannot_be_used_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "-1")
    with ModelServer() as server, pytest.raises(Exception, match=r"metrics\.tracing: one of the variables OTEL_\.\.\."):
        run(config(server), out=tmp_path / "study")


def test_the_other_observer_is_told_of_everything() -> None:
    calls = {name for name, value in vars(Observer).items() if callable(value) and not name.startswith("_")}
    assert calls <= vars(Spans).keys()
