"""The spans of a run for OpenTelemetry: ticks, questions, calls and commits, sent to a collector by a thread.

    tick -> question -> call -> whatever the model's server records itself
    tick -> commit

The packages are an extra, so nothing imports this module unless the configuration turns tracing on. Their own settings
come from the environment (`OTEL_...`). The queue of spans is bounded, and spans are dropped when it is full: a run
never waits for its collector, and never fails because it has none.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from threading import Thread
from typing import Any, NamedTuple

import msgspec
import structlog
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from actors.core.mailbox import Mailbox
from actors.core.messages import Decided
from actors.core.ports import Observer, RunView
from prism.agents import Question
from prism.config import Config
from prism.errors import ConfigError
from prism.llm.question_id import Asked, TraceIds, call_span, commit_span, question_span, tick_span
from prism.llm.spending import Spending

log = structlog.get_logger(__name__)

LAST_SPANS_S = 2.0
"""The longest that the end of a run waits for its last spans to be sent."""

_NS = 1_000_000_000
_SAMPLED, _LEFT_OUT = TraceFlags(TraceFlags.SAMPLED), TraceFlags(TraceFlags.DEFAULT)
_encode = msgspec.msgpack.Encoder().encode
Attributes = Mapping[str, Any]


@contextmanager
def spans_of(config: Config, run_id: str, observer: Observer) -> Iterator[Spans]:
    """Provide the observer that makes the spans of a run. At its end the last are sent, for two seconds at most.

    Args:
        observer: another observer, which is told of everything as well.

    Raises:
        ConfigError: a setting of OpenTelemetry in the environment cannot be used.
    """
    with _provider(config, run_id) as provider:
        yield Spans(observer, TraceIds(seed=config.simulation.seed, run=run_id), provider)


@contextmanager
def _provider(config: Config, run_id: str) -> Iterator[Any]:
    attributes = {
        "service.version": version("prism-sim"),
        "prism.run": run_id,
        "prism.domain": config.simulation.domain,
        "prism.seed": str(config.simulation.seed),  # a seed may be larger than the largest number of collectors
    }
    if not ("OTEL_SERVICE_NAME" in os.environ or "service.name" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")):
        attributes["service.name"] = "prism"
    try:
        exporter = Exporter(OTLPSpanExporter())
        provider = TracerProvider(resource=Resource.create(attributes), id_generator=SetIds(), shutdown_on_exit=False)
        provider.add_span_processor(BatchSpanProcessor(exporter))
    except ValueError as error:
        problem = f"one of the variables OTEL_... in the environment cannot be used: {error}"
        raise ConfigError("run", problem, key="metrics.tracing") from None
    try:
        yield provider
    finally:
        # In a thread, so that the wait has a limit: the time for which the exporter tries again differs between
        # versions.
        sending = Thread(target=provider.shutdown, name="last-spans", daemon=True)
        sending.start()
        sending.join(LAST_SPANS_S)
        if sending.is_alive():
            exporter.shutdown()
            log.warning("spans_unsent", actor="metrics", waited_s=LAST_SPANS_S)


class Exporter:
    """An exporter that can be given up: then it makes no further attempt, and logs nothing more.

    Args:
        exporter: the exporter that sends.
    """

    def __init__(self, exporter: Any) -> None:
        self._exporter = exporter
        self._is_shut = False

    def export(self, spans: Sequence[Any]) -> Any:
        """Send spans."""
        return SpanExportResult.FAILURE if self._is_shut else self._exporter.export(spans)

    def shutdown(self) -> None:
        """End the exporter, even while it tries to send again."""
        if not self._is_shut:
            self._is_shut = True
            self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Send the spans that the exporter holds back, if any; return whether that was possible."""
        return bool(self._exporter.force_flush(timeout_millis))


class SetIds:
    """The ids of the next span, which follow from its subject. Spans are begun on the run's thread alone."""

    def __init__(self) -> None:
        self.trace = self.span = ""
        """The id of the trace, hexadecimal."""

    def generate_trace_id(self) -> int:
        """Return the id of the trace that begins."""
        return int(self.trace, 16)

    def generate_span_id(self) -> int:
        """Return the id of the span that begins."""
        return int(self.span, 16)

    def is_trace_id_random(self) -> bool:
        """Return whether the ids are random."""
        return False


class Place(NamedTuple):
    """The place of a span: its trace, its own id, and that of the span above it, hexadecimal; empty for the first."""

    trace: str
    span: str
    parent: str = ""


class Spans(Observer):
    """An observer that makes spans, and tells another observer of everything.

    Args:
        observer: the other one.
        ids: the ids of the run's traces.
        provider: an OpenTelemetry provider of tracers whose ids are `SetIds`.
    """

    follows_questions = True

    def __init__(self, observer: Observer, ids: TraceIds, provider: Any) -> None:
        self._observer = observer
        self._ids = ids
        self._provider = provider
        self._set = provider.id_generator
        self._tracer = provider.get_tracer("prism")
        self._run: RunView | None = None
        self._updates = 0
        self._committed = 0
        """Ticks in the journal now."""

    def mailbox(self, name: str, capacity: int) -> Mailbox[bytes]:
        """Return the other observer's mailbox."""
        return self._observer.mailbox(name, capacity)

    def run_built(self, run: RunView) -> None:
        """Take the view of the run."""
        self._run = run
        self._observer.run_built(run)

    async def run(self) -> None:
        """Run the other observer. By now a resumed run has restored its updates, which it lacked when it was built."""
        self._updates = 0 if self._run is None else self._run.updates
        await self._observer.run()

    def tick_ended(self, duration_s: float) -> None:
        """Make the span of a tick."""
        self._observer.tick_ended(duration_s)
        if self._run is None:
            return
        tick, before = self._run.tick - 1, self._updates
        self._updates = self._run.updates
        trace, attributes = self._ids.trace(tick), {"prism.tick": tick, "prism.updates": self._updates - before}
        self._span("tick", Place(trace, tick_span(trace)), duration_s, attributes)

    def tick_replayed(self) -> None:
        """Make no second span of a tick, and count its updates."""
        self._observer.tick_replayed()
        self._updates = 0 if self._run is None else self._run.updates

    def asked(self, waited_s: float) -> None:
        """Tell the other observer."""
        self._observer.asked(waited_s)

    def answered(self, reason: str, duration_s: float, tick: int) -> None:
        """Tell the other observer."""
        self._observer.answered(reason, duration_s, tick)

    def computed(self, number: int, each_s: float, tick: int) -> None:
        """Tell the other observer. It is not called, because each question has a span."""
        self._observer.computed(number, each_s, tick)

    def called(self, asked: Asked, reason: str, duration_s: float, spent: Spending) -> None:
        """Make the span of a call."""
        self._observer.called(asked, reason, duration_s, spent)
        host, _, port = asked.host.rpartition(":")
        attributes = {
            "prism.question.id": asked.question,
            "prism.attempt": asked.attempt,
            "prism.requests": asked.requests,
            "prism.outcome": reason or "ok",
            "gen_ai.usage.input_tokens": sum(each.prompt_tokens for each in spent),
            "gen_ai.usage.output_tokens": sum(each.completion_tokens for each in spent),
        }
        if host and port.isdigit():
            attributes |= {"server.address": host, "server.port": int(port)}
        elif asked.host:
            attributes["server.address"] = asked.host
        place = Place(asked.trace, call_span(asked.question, asked.attempt), question_span(asked.question))
        self._span("call", place, duration_s, attributes, reason)

    def decided(self, question: Question[Any], decided: Decided, shared: Question[Any] | None) -> None:
        """Make the span of a question, from its arrival at the oracle to its answer."""
        self._observer.decided(question, decided, shared)
        trace = self._ids.trace(question.tick)
        attributes: dict[str, Any] = {
            "prism.question.id": self._id(question),
            "prism.tick": question.tick,
            "prism.agent": question.agent,
            "prism.trigger": question.trigger,
            "prism.state": question.state,
            "prism.options": question.options,
            "prism.decision": decided.state,
            "prism.source": decided.source,
            "prism.method": decided.method,
        }
        if shared is not None:
            attributes["prism.shares_call_of"] = self._id(shared)
        place = Place(trace, question_span(attributes["prism.question.id"]), tick_span(trace))
        self._span("question", place, decided.latency_s, attributes, decided.reason)

    def is_sampled(self, tick: int) -> bool:
        """Return whether the sampler, which `OTEL_TRACES_SAMPLER` chooses, takes the trace of a tick."""
        return self._observer.is_sampled(tick) and self._samples(self._ids.trace(tick))

    def committed(self, duration_s: float, size: int, ticks: int = 1) -> None:
        """Make the span of a commit, below the last of its ticks."""
        self._observer.committed(duration_s, size, ticks)
        self._committed += ticks
        trace = self._ids.trace(self._committed - 1)
        attributes = {"prism.bytes": size, "prism.ticks": ticks}
        self._span("commit", Place(trace, commit_span(trace), tick_span(trace)), duration_s, attributes)

    def resumed(self, size: int, ticks: int) -> None:
        """Note the ticks of an earlier process."""
        self._observer.resumed(size, ticks)
        self._committed = ticks

    def checkpointed(self) -> None:
        """Tell the other observer."""
        self._observer.checkpointed()

    def _id(self, question: Question[Any]) -> str:
        return self._ids.question(question.tick, question.agent, _encode(question))

    def _samples(self, trace: str) -> bool:
        result = self._provider.sampler.should_sample(None, int(trace, 16), "tick")
        return bool(result.decision.is_sampled())

    def _span(self, name: str, place: Place, duration_s: float, attributes: Attributes, failure: str = "") -> None:
        """Make a span that ends now.

        Args:
            failure: why there is no answer; empty otherwise.
        """
        ends_ns = time.time_ns()
        self._set.trace, self._set.span = place.trace, place.span
        span = self._tracer.start_span(
            name,
            context=self._above(place),
            kind=SpanKind.CLIENT if name == "call" else SpanKind.INTERNAL,
            attributes=attributes,
            start_time=ends_ns - int(duration_s * _NS),
        )
        if failure:
            span.set_attribute("error.type", failure)
            span.set_status(Status(StatusCode.ERROR, failure))
        span.end(end_time=ends_ns)

    def _above(self, place: Place) -> Any:
        """Return the context of a span: the one above it, which may still be under way and is known by its id."""
        if not place.parent:
            return Context()
        flags = _SAMPLED if self._samples(place.trace) else _LEFT_OUT
        above = SpanContext(int(place.trace, 16), int(place.parent, 16), is_remote=False, trace_flags=flags)
        return set_span_in_context(NonRecordingSpan(above), Context())
