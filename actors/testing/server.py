"""The test server: Ollama's API and OpenAI's over a real socket, with made-up answers, latency and faults.

A thread accepts connections, and each connection has a thread of its own, so a client that blocks does not block it.
"""

from __future__ import annotations

import json
import math
import select
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from enum import StrEnum, unique
from hashlib import sha256
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from statistics import NormalDist
from types import MappingProxyType, TracebackType
from typing import Any, ClassVar, Self

import msgspec
import xxhash

from prism.errors import PrismError
from prism.rng import WORLD, Draw, integer, normal, uniform

WRONG_STATE = "not_an_option"
"""The value of an answer that is outside the options."""
LISTS_MAX = 8
"""The level of a schema from which on lists are empty."""
_WORDS = ("I", "would", "rather", "think", "about", "this", "before", "saying", "more", "today", "with", "friends")


def answer(messages: Sequence[Mapping[str, object]], seed: object, form: object, *, wrong: bool = False) -> str:
    """Return JSON valid for a format: a schema, or "json" for any object; without a format return prose.

    `wrong` puts each enumerated value outside its options.

    Raises:
        ValueError: it is not a valid schema, or has references.
    """
    key = _key(json.dumps(messages, sort_keys=True), seed)
    if not isinstance(form, dict):
        return json.dumps({"answer": _prose(key, 1)}) if form else _prose(key, 12)
    try:
        return json.dumps(_value(form, key, wrong=wrong))
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
        raise ValueError("invalid JSON schema in format") from error


def _value(schema: Any, key: int, depth: int = 0, *, wrong: bool) -> object:
    """Return a value for a part of the schema. Its draws follow from its path, so no property depends on another."""
    number = integer(1 << 48, key, WORLD, 0, Draw.SERVER_ANSWER)
    if isinstance(options := schema.get("enum", [schema["const"]] if "const" in schema else None), list):
        return WRONG_STATE if wrong else options[number % len(options)]
    if branches := schema.get("anyOf") or schema.get("oneOf"):
        return _value(branches[number % len(branches)], key, depth + 1, wrong=wrong)
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if isinstance(kind, list):
        kind = kind[number % len(kind)]
    if kind == "object":
        fields = schema.get("properties", {})
        return {name: _value(each, _key(key, name), depth + 1, wrong=wrong) for name, each in fields.items()}
    if kind == "array":
        count = schema.get("minItems", int(depth < LISTS_MAX))
        return [_value(schema["items"], _key(key, i), depth + 1, wrong=wrong) for i in range(min(count, 1000))]
    low = schema.get("minimum", schema.get("exclusiveMinimum", 0))
    high = schema.get("maximum", schema.get("exclusiveMaximum", max(1, low + 1)))
    if kind == "integer":
        least = math.ceil(low) + ("exclusiveMinimum" in schema)
        return least + number % max(1, math.floor(high) - ("exclusiveMaximum" in schema) - least + 1)
    simple: dict[str, Callable[[], object]] = {
        "boolean": lambda: number % 2 == 0,
        "null": lambda: None,
        # The ends may be excluded.
        "number": lambda: float(low + (high - low) * (0.001 + 0.998 * uniform(key, WORLD, 0, Draw.SERVER_ANSWER))),
        "string": lambda: _prose(key, 6).ljust(schema.get("minLength", 0), ".")[: schema.get("maxLength", 80)],
    }
    return simple[kind]()


def _key(*parts: object) -> int:
    return xxhash.xxh3_64_intdigest(repr(parts).encode())


def _prose(key: int, words: int) -> str:
    return " ".join(_WORDS[integer(len(_WORDS), _key(key, i), WORLD, 0, Draw.SERVER_ANSWER)] for i in range(words))


class ModelServerError(PrismError):
    """A test server cannot be started."""


class ServerSettingsError(ModelServerError, ValueError):
    """A setting of the server is out of its range."""

    def __init__(self, setting: str, problem: str) -> None:
        super().__init__(f"{setting}: {problem}")


@unique
class Fault(StrEnum):
    """A way to fail."""

    HANG = "hang"  # accepts the request and never answers; takes no slot
    CUT = "cut"  # closes the connection in the middle of the answer
    RESET = "reset"  # resets the connection before the answer
    BUSY = "busy"  # 503, as if too many calls were waiting
    ERROR = "error"  # 500 with an error object
    NOT_JSON = "not_json"  # 200 whose content is prose where JSON was asked for
    WRONG_STATE = "wrong_state"  # 200 whose content is valid JSON with a value outside the options
    EMPTY = "empty"  # 200 whose content is an empty string


class FaultPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A plan of the calls that fail: by number first, else by share. Calls are counted from 1.

    Args:
        shares: the share of the calls that fail in each way; at most 1 together.
        at: the calls, by number, that fail in any case, and how.

    Raises:
        ServerSettingsError: a value is out of its range.
    """

    shares: Mapping[Fault, float] = {}
    at: Mapping[int, Fault] = {}
    seed: int = 0

    def __post_init__(self) -> None:
        if not all(share >= 0 for share in self.shares.values()) or sum(self.shares.values()) > 1 + 1e-9:
            given = ", ".join(f"{fault}={share:g}" for fault, share in self.shares.items())
            raise ServerSettingsError("shares of faults", f"must be at least 0 and at most 1 together, not {given}")
        if min(self.at, default=1) < 1:
            raise ServerSettingsError("call of a fault", f"calls are counted from 1, not {min(self.at)}")

    def pick(self, call: int) -> Fault | None:
        """Return the fault of this call: a function of the seed and the call's number alone."""
        if call in self.at:
            return self.at[call]
        left = uniform(self.seed, WORLD, call, Draw.SERVER_FAULT)
        for fault, share in self.shares.items():
            left -= share
            if left < 0:
                return fault
        return None


_Z99 = NormalDist().inv_cdf(0.99)


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """The seconds of a call: a constant, or log-normal if the 99th percentile is given, of 1 to 15 times the mean.

    `seconds` is the same for the same seed and number of a call, whoever makes it.
    """

    mean_s: float = 0.0
    p99_s: float | None = None
    seed: int = 0

    def seconds(self, call: int) -> float:
        if self.p99_s is None:
            return self.mean_s
        # The spread of the log-normal law with this mean and this 99th percentile.
        sigma = _Z99 - math.sqrt(_Z99**2 - 2 * math.log(self.p99_s / self.mean_s))
        return self.mean_s * math.exp(sigma * normal(self.seed, WORLD, call, Draw.SERVER_LATENCY) - sigma**2 / 2)


class ServerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The server's behaviour. All but `slots` may be changed while the server runs.

    Args:
        models: the models it has; any other is a 404.
        slots: calls that run at once; the others wait.
        latency: seconds of a call.
        faults: calls that fail, and how.
        reply: says what the model says, from the messages, the options and the format, instead of made-up values.
        keeps: the latest exchanges that `ModelServer.calls` has.

    Raises:
        ServerSettingsError: a model has no name.
    """

    models: tuple[str, ...] = ("llama3.2",)
    slots: int = 4
    latency: Latency = Latency()
    faults: FaultPlan = FaultPlan()
    reply: Callable[[Sequence[Mapping[str, object]], Mapping[str, object], object], str] | None = None
    keeps: int = 10_000

    def __post_init__(self) -> None:
        if not all(name.strip() for name in self.models):
            raise ServerSettingsError("models", "each needs a name")


CHAT, COMPLETIONS = "/api/chat", "/v1/chat/completions"
MAX_BODY_BYTES = 4 << 20
VERSION = "0.40.12"
_PROSE = "Sure! I would go on scrolling for a while, since nothing here speaks to me."
_CREATED = 1_767_607_200
_LOOKS_EVERY_S = 0.2


class ServerAddressError(ModelServerError):
    """The server cannot listen where it is told to."""

    def __init__(self, host: str, port: int, problem: object) -> None:
        choose = "choose another port, 0 for one that is free, or an address of this machine"
        super().__init__(f"cannot listen on {host}:{port}: {problem}; {choose}")


class Exchange(msgspec.Struct, kw_only=True):
    """One request and how it ended.

    Args:
        body: the decoded JSON, or the text if it is no JSON.
        started_s: monotonic seconds, as `ended_s`, which is None while the server works on it.
        call: the number of a question, from 1 on.
        status: None if no answer was begun.
        abandoned: True if the client left before the end, or the server was stopped.
        request_id: the header by which the client names the call.
    """

    method: str
    path: str
    body: Any
    started_s: float
    ended_s: float | None = None
    call: int | None = None
    fault: Fault | None = None
    status: int | None = None
    abandoned: bool = False
    request_id: str = ""

    def line(self) -> str:
        return json.dumps(msgspec.structs.asdict(self))


class Statistics(msgspec.Struct, kw_only=True):
    """Counts since the object was made. `calls` are the questions; the other counts are of ended requests."""

    requests: int = 0
    calls: int = 0
    abandoned: int = 0
    faults: dict[Fault, int] = {}
    statuses: dict[int, int] = {}
    peak_busy: int = 0


class Reply(Exception):  # noqa: N818 - the answer to a request is found at different depths
    """The answer to a request: a status, a body and headers."""

    def __init__(self, body: object, status: int = 200, headers: Mapping[str, str] = MappingProxyType({})) -> None:
        super().__init__(status)
        self.body = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
        content_type = "text/plain; charset=utf-8" if isinstance(body, bytes) else "application/json"
        self.headers = {"Content-Type": content_type, **headers}
        self.status = status


class ModelServer:
    """A test server in a thread, for `with`. It keeps its port over `stop` and `start`.

    Args:
        settings: its behaviour; may be replaced while it runs.
        port: the port; 0 picks a free one.
        on_exchange: gets each ended exchange, in a thread of the server.

    Raises:
        ServerAddressError: it cannot listen there.
    """

    handler: ClassVar[type[Handler]]
    """Serves the connections; a subclass may serve them in another way."""

    def __init__(
        self,
        settings: ServerSettings | None = None,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        on_exchange: Callable[[Exchange], None] | None = None,
    ) -> None:
        self.settings = settings or ServerSettings()
        self.host, self.port = host, port
        self._on_exchange = on_exchange
        self._lock = threading.Lock()
        self._exchanges: deque[Exchange] = deque()
        self._counts, self._busy = Statistics(), 0
        self._server: _HttpServer | None = None

    @property
    def url(self) -> str:
        return f"http://[{self.host}]:{self.port}" if ":" in self.host else f"http://{self.host}:{self.port}"

    @property
    def calls(self) -> list[Exchange]:
        """The latest questions, in the order of their arrival."""
        with self._lock:
            return [each for each in self._exchanges if each.call is not None]

    def statistics(self) -> Statistics:
        with self._lock:
            return deepcopy(self._counts)

    def start(self) -> None:
        """Listen. Raises: ServerAddressError."""
        if self._server is None:
            self._server = _HttpServer(self)
            self.port = self._server.server_address[1]
            threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self) -> None:
        if self._server is not None:
            self._server.end()
            self._server = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.stop()

    def begin(self, exchange: Exchange) -> None:
        with self._lock:
            self._counts.requests += 1
            self._exchanges.append(exchange)
            while len(self._exchanges) > self.settings.keeps:
                self._exchanges.popleft()

    def begin_call(self, exchange: Exchange) -> int:
        """Give a question its number and its fault; return the number."""
        with self._lock:
            self._counts.calls = exchange.call = self._counts.calls + 1
            exchange.fault = self.settings.faults.pick(exchange.call)
            return exchange.call

    def count_busy(self, change: int) -> None:
        with self._lock:
            self._busy += change
            self._counts.peak_busy = max(self._counts.peak_busy, self._busy)

    def end(self, exchange: Exchange) -> None:
        exchange.ended_s = time.monotonic()
        with self._lock:
            counts = self._counts
            counts.abandoned += exchange.abandoned
            if (fault := exchange.fault) is not None:
                counts.faults[fault] = counts.faults.get(fault, 0) + 1
            if (status := exchange.status) is not None:
                counts.statuses[status] = counts.statuses.get(status, 0) + 1
        if self._on_exchange is not None:
            self._on_exchange(exchange)


class _HttpServer(ThreadingHTTPServer):
    """The listener, and its open connections."""

    daemon_threads = True
    request_queue_size = 512

    def __init__(self, owner: ModelServer) -> None:
        self.owner = owner
        self.address_family = socket.AF_INET6 if ":" in owner.host else socket.AF_INET
        self.stopped = threading.Event()
        self.slots = threading.Semaphore(owner.settings.slots)
        self.connections: set[socket.socket] = set()
        try:
            super().__init__((owner.host, owner.port), owner.handler)
        except (OSError, OverflowError) as error:  # an unknown name, a port in use, or one that there cannot be
            raise ServerAddressError(owner.host, owner.port, getattr(error, "strerror", None) or error) from None

    def server_bind(self) -> None:
        """Bind without the look-up of a name that http.server does."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.connections.discard(request)
        super().shutdown_request(request)

    def end(self) -> None:
        self.stopped.set()
        self.shutdown()
        self.socket.close()
        for connection in list(self.connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue


class Handler(BaseHTTPRequestHandler):
    """One connection. The methods without an underscore are the steps of an answer, which a subclass may change."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _HttpServer
    body: Any
    """The decoded JSON of the request, or its text if it is no JSON."""

    @property
    def settings(self) -> ServerSettings:
        return self.server.owner.settings

    @property
    def place(self) -> str:
        return self.path.partition("?")[0]

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:  # the connection is gone: the exchange says so
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name in http.server
        """Write nothing: `on_exchange` gets each request."""

    def do_GET(self) -> None:
        length = self.headers.get("Content-Length", "0")
        size = int(length) if length.isdecimal() else MAX_BODY_BYTES + 1
        raw = self.rfile.read(size) if size <= MAX_BODY_BYTES else b""
        self.close_connection |= size > MAX_BODY_BYTES
        try:
            self.body = json.loads(raw) if raw else None
        except (ValueError, RecursionError):
            self.body = raw.decode(errors="replace")
        exchange = Exchange(
            method=self.command,
            path=self.path,
            body=self.body,
            started_s=time.monotonic(),
            request_id=self.headers.get("X-Request-Id", ""),
        )
        owner = self.server.owner
        owner.begin(exchange)
        exchange.abandoned = True
        try:
            try:
                if size > MAX_BODY_BYTES:
                    raise Reply(b"413 body too large", HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
                reply = self.look_up() if self.command != "POST" else self.answer(exchange)
            except Reply as refusal:
                reply = refusal
            if reply is not None and not self.server.stopped.is_set():
                self.send(reply, exchange)
                exchange.abandoned = False
        finally:
            owner.end(exchange)

    do_HEAD = do_POST = do_GET  # noqa: N815 - as above

    def look_up(self) -> Reply:
        names = list(map(full_name, self.settings.models))
        found: dict[str, object] = {
            "/": b"Ollama is running",
            "/api/version": {"version": VERSION},
            "/api/tags": {
                "models": [{"name": name, "model": name, "digest": sha256(name.encode()).hexdigest()} for name in names]
            },
            "/v1/models": {"object": "list", "data": [{"id": name, "object": "model"} for name in names]},
        }
        return Reply(found[self.place]) if self.place in found else Reply(b"404 page not found", 404)

    def check(self) -> None:
        """Check a question. Raises: Reply, for a refusal."""
        path, body = self.place, self.body
        if path not in {CHAT, COMPLETIONS}:
            raise Reply(b"404 page not found", 404)
        if not isinstance(body, dict):
            raise error_of(path, 400, "the body is no JSON object")
        name = body.get("model")
        if not isinstance(name, str) or full_name(name) not in map(full_name, self.settings.models):
            raise error_of(path, 404, f"model '{name}' not found")
        messages = body.get("messages", [])
        if not isinstance(messages, list) or not all(isinstance(each, dict) for each in messages):
            raise error_of(path, 400, "messages must be a list of objects")
        if path == COMPLETIONS and body.get("stream") is True:
            raise error_of(path, 400, "the test server does not stream")

    def answer(self, exchange: Exchange) -> Reply | None:
        """Return the answer to a question; None if there is none. Raises: Reply, for a refusal."""
        self.check()
        call = self.server.owner.begin_call(exchange)
        self.admit(exchange)
        if exchange.fault is Fault.HANG:
            self.wait(math.inf)
            return None
        with self.server.slots:
            self.server.owner.count_busy(1)
            is_there = self.wait(self.latency_s(call))
            self.server.owner.count_busy(-1)
        if not is_there:
            return None
        return Reply(self.completion(self.text(exchange), exchange))

    def admit(self, exchange: Exchange) -> None:
        """Take a question that has its number. Raises: Reply, for a refusal."""
        if exchange.fault is Fault.BUSY:
            raise error_of(self.place, 503, "server busy, please try again.  maximum pending requests exceeded")
        if exchange.fault is Fault.ERROR:
            raise error_of(self.place, 500, "llama runner process has terminated: exit status 2")

    def wait(self, seconds: float) -> bool:
        """Return whether the client is still there after so many seconds."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0 and not self.server.stopped.is_set():
            readable, _, _ = select.select([self.connection], [], [], min(left, _LOOKS_EVERY_S))
            if readable and not self.connection.recv(1, socket.MSG_PEEK):
                self.close_connection = True
                return False
        return True

    def latency_s(self, call: int) -> float:
        return self.settings.latency.seconds(call)

    def text(self, exchange: Exchange) -> str:
        """Return the text that the model gives. Raises: Reply, if the format is no schema."""
        if exchange.fault is Fault.EMPTY:
            return ""
        if exchange.fault is Fault.NOT_JSON:
            return _PROSE
        options, form = asked_of(self.place, self.body)
        is_wrong = exchange.fault is Fault.WRONG_STATE
        if self.settings.reply is not None and not is_wrong:
            return self.settings.reply(self.body.get("messages", []), options, form)
        try:
            return self.said(options, form, wrong=is_wrong)
        except ValueError as error:
            raise error_of(self.place, 400, str(error)) from None

    def said(self, options: Mapping[str, object], form: object, *, wrong: bool) -> str:
        return answer(self.body.get("messages", []), options.get("seed"), form, wrong=wrong)

    def completion(self, text: str, exchange: Exchange) -> dict[str, Any]:
        """Return the body of an answer, cut at the limit of tokens: one token is about four characters."""
        path, body = self.place, self.body
        most = body.get("max_completion_tokens", body.get("max_tokens"))
        most = (body.get("options") or {}).get("num_predict") if path == CHAT else most
        reason = "length" if isinstance(most, int) and 0 < most < len(text) / 4 else "stop"
        text = text[: most * 4] if reason == "length" and most is not None else text
        asked = sum(4 + math.ceil(len(str(each.get("content", ""))) / 4) for each in body.get("messages", []))
        told = math.ceil(len(text) / 4)
        message = {"role": "assistant", "content": text}
        if path == CHAT:
            return {
                "model": body["model"],
                "created_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                "message": message,
                "done": True,
                "done_reason": reason,
                "prompt_eval_count": asked,
                "eval_count": told,
            }
        return {
            "id": f"chatcmpl-{exchange.call}",
            "object": "chat.completion",
            "created": _CREATED,
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": {"prompt_tokens": asked, "completion_tokens": told, "total_tokens": asked + told},
        }

    def send(self, reply: Reply, exchange: Exchange) -> None:
        """Send an answer, as far as the fault lets it."""
        if exchange.fault is Fault.RESET:
            # With this option a close sends RST, and no FIN.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            self.connection.close()
            return
        exchange.status = reply.status
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply.body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        is_cut = exchange.fault is Fault.CUT
        if self.command != "HEAD":
            self.wfile.write(reply.body[: len(reply.body) // 2] if is_cut else reply.body)
        self.close_connection |= is_cut


ModelServer.handler = Handler


def full_name(name: str) -> str:
    """Return the name with its tag, in lower case: Ollama finds models whatever the case."""
    return (name if ":" in name.rsplit("/", 1)[-1] else f"{name}:latest").lower()


def error_of(path: str, status: int, message: str) -> Reply:
    """Return a refusal as the API of a path writes it."""
    if not path.endswith("/completions"):
        return Reply({"error": message}, status)
    kind = "invalid_request_error" if status < HTTPStatus.INTERNAL_SERVER_ERROR else "api_error"
    return Reply({"error": {"message": message, "type": kind, "param": None, "code": None}}, status)


def asked_of(path: str, body: Mapping[str, Any]) -> tuple[Mapping[str, object], object]:
    """Return the options of a question and the format that it asks for: a schema, `json` or nothing."""
    if path != COMPLETIONS:
        return body.get("options") or {}, body.get("format")
    asked = body.get("response_format") or {}
    form = (asked.get("json_schema") or {}).get("schema") or (asked.get("type") == "json_object" and "json")
    return {"seed": body.get("seed"), "temperature": body.get("temperature")}, form
