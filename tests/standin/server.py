"""The server: the handler of `actors.testing` with probabilities, quirks, limits and spells; also as a process."""

from __future__ import annotations

import json
import math
import multiprocessing
import signal
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import count
from multiprocessing.connection import Connection
from typing import Any, Self

import anyio.to_thread
import msgspec
from anyio import CancelScope

from actors.testing.server import CHAT, WRONG_STATE, Exchange, Fault, Handler, Reply, answer, error_of
from actors.testing.server import ModelServer as PlainServer
from actors.testing.server import Statistics as PlainStatistics
from tests.standin.probabilities import (
    check_choice,
    check_letters,
    choices,
    drawn_shares,
    letters_of,
    nearly_all,
    tokens_of,
)
from tests.standin.quirks import Quirks
from tests.standin.settings import (
    SLOWER,
    ApiError,
    Broken,
    Logprobs,
    ServerSettings,
    Spell,
    SpellKind,
    SystemOne,
    spells_at,
)

CHOICE = "/v1/systemone"
_CRASH = "llama runner process has terminated: exit status 2"
_GARBAGE = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\xde\xad\xbe\xef\r\n\r\n"


class Statistics(PlainStatistics, kw_only=True):
    """Counts since the object was made.

    Args:
        spells: the calls that a spell has changed; `outages`: those that have begun.
        in_flight: calls under way.
    """

    spells: Mapping[SpellKind, int]
    outages: int
    in_flight: int
    peak_in_flight: int
    open_connections: int


class ModelServer(PlainServer):
    """A model server on a real socket, for `with` or `async with`. It may be stopped and started again."""

    settings: ServerSettings

    def __init__(self, settings: ServerSettings | None = None, **given: Any) -> None:
        super().__init__(settings or ServerSettings(), **given)
        self.in_flight = self.peak_in_flight = self.outages = 0
        self.spells = Counter[SpellKind]()
        self.begun_s = 0.0
        self._count_lock = threading.Lock()
        self._is_over = threading.Event()
        self._outages: threading.Thread | None = None

    @property
    def requests(self) -> list[Exchange]:
        """The latest requests, in the order of their arrival."""
        return list(self._exchanges)

    def statistics(self) -> Statistics:
        return Statistics(
            **msgspec.structs.asdict(super().statistics()),
            spells=dict(self.spells),
            outages=self.outages,
            in_flight=self.in_flight,
            peak_in_flight=self.peak_in_flight,
            open_connections=0 if self._server is None else len(self._server.connections),
        )

    def start(self) -> None:
        super().start()
        self.begun_s = time.monotonic()
        outage = next((spell for spell in self.settings.spells if spell.kind is SpellKind.OUTAGE), None)
        if outage is not None and self._outages is None:
            self._is_over = threading.Event()
            self._outages = threading.Thread(target=self._go_away, args=(outage, self.begun_s), daemon=True)
            self._outages.start()

    def stop(self) -> None:
        self._is_over.set()
        if self._outages is not None:
            self._outages.join()
            self._outages = None
        super().stop()

    def _go_away(self, outage: Spell, begun_s: float) -> None:
        """Stop for each outage, and start again after it."""
        for begin_s, end_s in map(outage.span, count()):
            for at_s, change in ((begin_s, super().stop), (end_s, super().start)):
                if self._is_over.wait(max(0.0, begun_s + at_s - time.monotonic())):
                    return
                change()
            self.outages += 1

    async def __aenter__(self) -> ModelServer:
        await anyio.to_thread.run_sync(self.start)
        return self

    async def __aexit__(self, *_: object) -> None:
        with CancelScope(shield=True):
            await anyio.to_thread.run_sync(self.stop)

    def under_way(self) -> dict[SpellKind, float]:
        """Return `{kind: remaining seconds}` of the spells under way."""
        now_s = time.monotonic() - self.begun_s
        return {kind: end_s - now_s for kind, end_s in spells_at(self.settings.spells, now_s).items()}

    def begin_call(self, exchange: Exchange) -> int:
        with self._count_lock:
            self.in_flight += 1
            self.peak_in_flight = max(self.peak_in_flight, self.in_flight)
        return super().begin_call(exchange)

    def end(self, exchange: Exchange) -> None:
        with self._count_lock:
            self.in_flight -= exchange.call is not None
        super().end(exchange)


class _Handler(Handler):
    @property
    def owner(self) -> ModelServer:
        owner = self.server.owner
        assert isinstance(owner, ModelServer)
        return owner

    @property
    def settings(self) -> ServerSettings:
        return self.owner.settings

    def _enter(self) -> Quirks:
        """Refuse a request of any kind, or let it in. Raises: Reply."""
        quirks = Quirks(self.settings.quirks)
        path, _, query = self.path.partition("?")
        self.path = f"{quirks.route(path)}?{query}"
        key = self.settings.key
        if key is not None and self.place.startswith("/v1/") and self.headers.get("Authorization") != f"Bearer {key}":
            raise error_of("/completions", 401, "Incorrect API key provided.")
        quirks.refuse("meet", self.place, query, {name.lower(): text for name, text in self.headers.items()})
        return quirks

    def look_up(self) -> Reply:
        self._enter()
        return super().look_up()

    def check(self) -> None:
        quirks = self._enter()
        if self.place == CHOICE and self.settings.systemone is not SystemOne.OFF:
            self._check_choice()
            return
        if self.place.endswith(("/chat", "/completions")) and isinstance(self.body, dict):
            quirks.refuse("refuse", self.body)
            self.body = quirks.understood(self.body)
        super().check()
        if self.body.get("logprobs") is True:
            check_letters(self.body, self.settings.logprobs)

    def _check_choice(self) -> None:
        name = str(self.body.get("model"))
        if name not in self.settings.models:
            raise ApiError(404, f"model '{name}' not found")
        if self.settings.systemone is SystemOne.UNSUITED:
            raise ApiError(400, f"registry.ollama.ai/library/{name} does not support decision")
        check_choice(self.body)

    def answer(self, exchange: Exchange) -> Reply | None:
        try:
            reply = super().answer(exchange)
        except ApiError as error:
            raise Quirks(self.settings.quirks).failed(error_of(self.place, error.status, error.message)) from None
        except Reply as refusal:
            raise Quirks(self.settings.quirks).failed(refusal) from None
        if reply is None or self.place == CHOICE:
            return reply
        return Quirks(self.settings.quirks).rendered(reply)

    def admit(self, exchange: Exchange) -> None:
        owner, spells = self.owner, self.owner.under_way()
        met = next((kind for kind in SpellKind if kind in spells and kind is not SpellKind.OUTAGE), None)
        if met is not None:
            owner.spells[met] += 1
        if met is SpellKind.LIMIT:
            exchange.fault = None
            refusal = error_of(self.place, 429, "Too many requests")
            raise Reply(json.loads(refusal.body), 429, {"Retry-After": str(math.ceil(spells[met]))})
        if met is SpellKind.SILENCE:
            exchange.fault = Fault.HANG
        if met is SpellKind.BUSY:
            raise error_of(self.place, 503, "server busy, please try again.  maximum pending requests exceeded")
        if self._broken(exchange) is Broken.STRING_ERROR:
            raise Reply(_CRASH, 500)
        super().admit(exchange)

    def _broken(self, exchange: Exchange) -> Broken | None:
        return self.settings.broken.get(exchange.call or 0)

    def latency_s(self, call: int) -> float:
        return super().latency_s(call) * (SLOWER if SpellKind.SLOW in self.owner.under_way() else 1.0)

    def text(self, exchange: Exchange) -> str:
        if self.place == CHOICE:
            return ""
        if self.body.get("logprobs") is True and exchange.fault is None:
            return "A"
        text = super().text(exchange)
        return Quirks(self.settings.quirks).said(text)

    def said(self, options: Mapping[str, object], form: object, *, wrong: bool) -> str:
        seed = options.get("seed") if not self.settings.live else time.monotonic_ns()
        return made_up(self.body.get("messages", []), seed, form, wrong=wrong)

    def completion(self, text: str, exchange: Exchange) -> dict[str, Any]:
        mode, body, fault = self.settings.logprobs, self.body, exchange.fault
        if self.place == CHOICE:
            nonce = exchange.call if self.settings.live else None
            found = choices(body, nonce, self.settings, wrong=fault is Fault.WRONG_STATE)
            if fault is Fault.EMPTY:
                return {**found, "answers": {}}
            return found if fault is not Fault.NOT_JSON else {"text": "Sure!"}
        if body.get("logprobs") is not True or mode is Logprobs.OFF:
            found = super().completion(text, exchange)
        else:
            letters = letters_of(body)[0]
            said: str | dict[str, float] = text
            if fault is None:
                named = None if self.settings.reply is None else self._named(letters)
                nonce = exchange.call if self.settings.live else None
                shares = drawn_shares(letters, json.dumps(body["messages"]), nonce)
                said = shares if named is None else nearly_all(letters, named) if named in letters else named
            elif fault is Fault.WRONG_STATE:
                said = WRONG_STATE  # no letter
            text, tokens = tokens_of(body, said, mode)
            found = super().completion(text, exchange)
            if self.place == CHAT:
                found["logprobs"] = tokens
            else:
                found["choices"][0]["logprobs"] = {"content": tokens}
        return found

    def _named(self, letters: list[str]) -> str:
        reply = self.settings.reply
        assert reply is not None
        return reply(self.body["messages"], {}, {"type": "string", "enum": letters})

    def send(self, reply: Reply, exchange: Exchange) -> None:
        broken = self._broken(exchange)
        if broken is Broken.GARBAGE:
            self.wfile.write(_GARBAGE)
            self.close_connection = True
        elif broken is Broken.DRIP:
            self.send_response(reply.status)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            exchange.status = reply.status
            for place in range(len(reply.body)):
                self.wfile.write(reply.body[place : place + 1])
                self.server.stopped.wait(self.settings.drip_s)
        else:
            super().send(reply, exchange)


ModelServer.handler = _Handler


def made_up(messages: Sequence[Mapping[str, object]], seed: object, form: object, *, wrong: bool = False) -> str:
    """Return an answer within a format; without one, within the schema that a message quotes, as a model would."""
    quoted = None if form and form != "json" else _quoted_schema(messages)
    if quoted is None:
        return answer(messages, seed, form, wrong=wrong)
    found = answer(messages, seed, quoted, wrong=wrong)
    return found if form else f"Here is my answer:\n\n{found}\n\nI hope it helps."


def _quoted_schema(messages: Sequence[Mapping[str, object]]) -> dict[str, Any] | None:
    """Return the last JSON schema that a message quotes, if any."""
    decoder = json.JSONDecoder()
    for message in reversed(messages):
        text = str(message.get("content", ""))
        start = text.find('{"')
        while start >= 0:
            try:
                found, _ = decoder.raw_decode(text, start)
            except (ValueError, RecursionError):
                found = None
            if isinstance(found, dict) and "properties" in found:
                return found
            start = text.find('{"', start + 1)
    return None


class ModelServerProcess:
    """A model server in a process of its own, for `with`. It keeps its port over restarts, and ends with its parent.

    Its settings have no `reply`, which cannot cross to another process; a port of 0 is one that is free.
    """

    def __init__(self, settings: ServerSettings | None = None, *, port: int = 0) -> None:
        # Nobody can look at the exchanges from here.
        self._settings = msgspec.structs.replace(settings or ServerSettings(), keeps=0)
        self.port = port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it listens."""
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(self._settings, self.port, theirs), daemon=True)
        self._process.start()
        theirs.close()
        self.port = self._pipe.recv()

    def end(self) -> Statistics:
        """End it, and return its counts."""
        self._pipe.send(None)
        counts: Statistics = self._pipe.recv()
        self.stop()
        return counts

    def stop(self) -> None:
        """Kill it."""
        self._process.kill()
        self._process.join()
        self._pipe.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def _serve(settings: ServerSettings, port: int, pipe: Connection) -> None:
    """Serve until the parent wants the counts, or is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, with which this one ends
    with ModelServer(settings, port=port) as server:
        pipe.send(server.port)
        try:
            pipe.recv()
        except EOFError:
            return
        pipe.send(server.statistics())
