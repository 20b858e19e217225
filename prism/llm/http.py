"""One HTTP call: its deadline, the reason for each way in which it can fail, and the reply, whatever the protocol.

Servers differ in details that are accepted here: a text in parts, counts that are null, an error with status 200.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from time import perf_counter
from types import MappingProxyType
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import anyio
import httpx
import msgspec

from prism.errors import OracleUnavailableError
from prism.llm.answer import extract_object, without_reasoning
from prism.llm.failure import REASONS, LLMFailureException, Reason, Usage, meaning_of
from prism.llm.headers import ASKED, ATTEMPT_HEADER, DEADLINE_HEADER, FAILURE_HEADER, REQUEST_ID
from prism.statechart.oracle import ATTEMPT

# Cancelling a call under a full pool blocks httpcore for good, so the pool has no limit: the caller limits the calls.
LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=64)
SECRET_CHARS_MIN = 8
"""The shortest key that is removed from a text wherever it stands. A shorter one occurs in ordinary words."""
LARGEST_ANSWER_BYTES = 1_000_000
"""The limit, unpacked. A decision takes some hundred bytes, and the longest reasoning some ten thousand."""
LARGEST_REFUSAL_BYTES = 64_000
"""The limit for the body of an error, of which one line is shown."""
PLAIN = {"Accept-Encoding": "identity"}
"""The header that asks for bodies that are not packed. Some proxies pack them nevertheless."""
LONGEST_S = 86_400.0
"""No pause is longer: a damaged header must not stop a run for years."""

_GZIP_OR_ZLIB = zlib.MAX_WBITS + 32
_EXPECTED = (
    httpx.HTTPError,  # timeouts, cut and reset connections, replies that are not HTTP
    OSError,  # TimeoutError of the deadline, and ConnectionError, into which `ollama` turns httpx.ConnectError
    ValueError,  # not JSON, not the promised fields
    TypeError,  # JSON of another shape, which `ollama` does not expect
    RecursionError,  # JSON nested thousands deep
)
CUT: Final = frozenset({"length", "max_tokens", "max_output_tokens", "model_length", "token_limit"})
"""The reasons of servers for an answer that ended at the limit of tokens, in small letters."""
WITHHELD: Final = frozenset(
    {"content_filter", "refusal", "safety", "prohibited_content", "blocklist", "spii", "recitation"}
)
"""The reasons of servers for an answer that was withheld, in small letters."""
REASONING: Final = ("reasoning_content", "reasoning", "thinking", "reasoning_text")
"""The fields in which servers put reasoning that stands apart from the answer."""
STATUSES: Final = {
    400: "invalid_request_error bad_request context_length_exceeded content_filter content_policy_violation",
    401: "authentication_error invalid_api_key unauthorized",
    402: "insufficient_balance insufficient_credits payment_required",
    403: "permission_error permission_denied forbidden",
    404: "not_found_error not_found model_not_found",
    408: "request_timeout",
    429: "insufficient_quota rate_limit_error rate_limit_exceeded too_many_requests resource_exhausted",
    500: "server_error internal_error internal_server_error api_error",
    502: "bad_gateway",
    503: "overloaded_error overloaded service_unavailable unavailable",
    504: "timeout_error gateway_timeout",
}
"""The words by which errors with status 200 name their real status."""
TOKENS_MAX: Final = 10**9
"""A count from here on is a mistake of the server."""

STREAMS: Final = "its answers come in events, which are not read"
_STATUS_OF = {word: status for status, words in STATUSES.items() for word in words.split()}
_Object = Mapping[str, Any]
_Ending = Literal["stop", "cut", "unstated", "refused"]


class StatusError(Exception):
    """A response whose status is not 2xx, and the text of its body."""

    def __init__(self, status: int, body: str, pause_s: float = 0.0) -> None:
        self.status, self.body, self.pause_s = status, body, pause_s
        super().__init__(error_text(body) or f"HTTP {status}")


class UnusableAnswerError(ValueError):
    """An answer that cannot be used, and was paid for."""

    def __init__(self, problem: str, usage: Usage = Usage()) -> None:  # noqa: B008  # never changes
        self.usage = usage
        super().__init__(problem)


class RefusedAnswerError(UnusableAnswerError):
    """A question that is refused: by the model, by a filter behind it, or by PRISM."""


async def read_body(response: httpx.Response) -> None:
    """Read a body within its limit, and raise `StatusError`: a response hook, before anything else reads the body.

    A megabyte of gzip can unpack to a gigabyte, so httpx must not unpack it. `ollama` cannot read every error body.

    Raises:
        ValueError: an answer is too large, or packed in a way that was not asked for.
        LLMFailureException: a gateway tells that the server has sent no reply.
        OracleUnavailableError: a gateway makes no call any more.
    """
    reason = response.headers.get(FAILURE_HEADER) if DEADLINE_HEADER in response.request.headers else None
    if reason is not None:
        detail = (await response.aread()).decode(errors="replace")
        if reason in REASONS:
            raise LLMFailureException(reason, component="gateway", detail=detail)
        raise OracleUnavailableError(detail)
    body, problem = bytearray(), ""
    most = LARGEST_ANSWER_BYTES if response.is_success else LARGEST_REFUSAL_BYTES
    encoding = response.headers.pop("Content-Encoding", "").strip().lower()
    async for piece in response.aiter_raw():
        body += piece
        if len(body) > most:
            break
    if encoding in ("gzip", "x-gzip", "deflate"):
        try:
            body = bytearray(zlib.decompressobj(_GZIP_OR_ZLIB).decompress(body, most + 1))
        except zlib.error as error:
            problem = f"the answer comes in the encoding {encoding!r}, and cannot be unpacked ({error})"
    elif encoding not in ("", "identity"):
        problem = f"the answer comes in the encoding {encoding[:40]!r}, which was not asked for"
    if len(body) > most:
        problem = f"answer larger than {most / 1e6:g} MB; the rest of it was not read"
    if response.has_redirect_location:
        place = urlsplit(response.headers["location"])._replace(query="", fragment="").geturl()
        problem = f"it sends on to {place}, and is not followed; set llm.host or llm.request.path"
        raise StatusError(response.status_code, problem)
    if not response.is_success:
        raise StatusError(response.status_code, body.decode(errors="replace"), retry_after_s(response.headers))
    if problem:
        raise ValueError(problem)
    response._content = bytes(body)  # noqa: SLF001  # where httpx keeps a body that has been read


async def name_request(request: httpx.Request) -> None:
    """Add the header that names the question, unless `llm.request.headers` has set it: a request hook.

    A gateway is told of the question's unusable answers, too.
    """
    if (asked := ASKED.get()) is not None:
        request.headers.setdefault(REQUEST_ID, asked.name_request())
    if DEADLINE_HEADER in request.headers:
        request.headers[ATTEMPT_HEADER] = str(ATTEMPT.get())


HOOKS: dict[str, list[Callable[..., Any]]] = {"request": [name_request], "response": [read_body]}


@contextmanager
def bounded_call(component: str, deadline_s: float, secrets: Collection[str] = ()) -> Iterator[None]:
    """Return a context that limits one call to its last byte: a server that drips bytes would pass any read timeout.

    Raises:
        LLMFailureException: the call failed. A `ValueError` from within means that its answer is unusable.
    """
    started_s = perf_counter()
    try:
        with anyio.fail_after(deadline_s):
            yield
    except (StatusError, *_EXPECTED) as error:
        status, advice, pause_s, usage, detail = None, "", 0.0, Usage(), str(error) or type(error).__name__
        reason: Reason = "invalid_response"
        match error:
            case StatusError():
                status, pause_s = error.status, error.pause_s
                reason, advice = meaning_of(status, error.body)
            case UnusableAnswerError():
                usage = error.usage
                reason = "refused" if isinstance(error, RefusedAnswerError) else reason
            case TimeoutError() | httpx.TimeoutException():
                reason, detail = "timeout", f"no whole answer within {deadline_s:g} s"
            case OSError() | httpx.TransportError():
                reason = "connection_error"
        raise LLMFailureException(
            reason,
            component=component,
            status_code=status,
            detail=redacted(secrets, detail),
            latency_s=perf_counter() - started_s,
            retry_after_s=pause_s,
            usage=usage,
            advice=advice,
        ) from error


def error_text(body: str) -> str:
    """Return the server's own words in an error body: Ollama's `error`, OpenAI's `error.message`, or the body.

    FastAPI has a list of problems in `detail`, each with the place of a field, and the request again.
    """
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return body
    error = found.get("error", found) if isinstance(found, dict) else found
    problems = found.get("detail") if isinstance(found, dict) else None
    if isinstance(problems, list) and all(isinstance(each, dict) and "msg" in each for each in problems):
        return "; ".join(f"{each.get('loc', '')}: {each['msg']}" for each in problems)
    text = error.get("message", error) if isinstance(error, dict) else error
    return text if isinstance(text, str) else json.dumps(text)


def redacted(secrets: Collection[str], text: str) -> str:
    """Return the text without the secrets, which some servers repeat in their error messages.

    A key of one letter would remove that letter everywhere. So one of less than 8 characters, such as the `none` or
    `EMPTY` that a local server takes, is removed only where it stands as the value of a header.
    """
    for secret in secrets:
        if len(secret) >= SECRET_CHARS_MIN:
            text = text.replace(secret, "***")
            continue
        value = rf"(?i)(\b(?:bearer|(?:authorization|api-key)['\"]?:)\s+['\"]?){re.escape(secret)}(?!\w)"
        text = re.sub(value, r"\1***", text)
    return text


def retry_after_s(headers: Mapping[str, str]) -> float:
    """Return the seconds to wait before the next request; 0 if the headers ask for none, or cannot be read.

    A moment is compared with the server's own clock in `Date`, or with the clock here. Names are in lower case.
    """
    for name, unit_s in (("retry-after-ms", 0.001), ("x-ms-retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit_s
        except ValueError:
            continue
        return min(seconds, LONGEST_S) if seconds > 0.0 else 0.0  # NaN is 0
    until = _moment(headers.get("retry-after", ""))
    if until is None:
        return 0.0
    now = _moment(headers.get("date", "")) or datetime.now(UTC)  # noqa: TID251  # a pause enters no result
    return min(max(0.0, (until - now).total_seconds()), LONGEST_S)


def _moment(text: str) -> datetime | None:
    """Return a date of HTTP in any of its three forms; None if it is none. Its zone is UTC."""
    try:
        found = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """A reply, as any protocol gives it.

    Args:
        reasoning: the reasoning that stands apart from the answer.
        ending: `cut` at the limit of tokens, `refused` by the model or a filter behind it, `stop`, or `unstated`.
        unstated: the reason why the ending is unknown, or the words of a refusal, for messages.
    """

    text: str = ""
    reasoning: str = ""
    ending: _Ending
    unstated: str = ""
    model: str = ""
    usage: Usage = Usage()


def text_of(reply: Reply, limit: int, *, is_json: bool, is_free: bool = False) -> str:
    """Return the text of an answer that is complete. In JSON it has no reasoning.

    An answer in JSON that is whole counts even if the model went on until it was cut: small models add blanks forever.
    It also counts if the server does not say that the answer is whole.

    Raises:
        UnusableAnswerError: the answer is not complete.
        RefusedAnswerError: the question is refused, or the answer says nothing at all: filters leave nothing else.
    """
    text = reply.text
    if is_json and not _is_json(text):
        said, unfinished = without_reasoning(text)
        text = said.strip() or unfinished.strip()
    ending, is_whole = reply.ending, is_json and _is_json(text)
    problem, kind = "", UnusableAnswerError
    if ending == "refused" and not is_whole:
        problem, kind = f"the model refuses to answer ({reply.unstated})", RefusedAnswerError
    elif ending == "unstated" and not (is_whole or (is_json and is_free and extract_object(text) is not None)):
        problem = f"the server stopped before the end of the answer ({reply.unstated})"
    elif ending == "cut" and is_json and not is_whole:
        problem = f"the answer was cut at {limit} tokens; raise llm.num_predict"
    elif not text:
        problem = "the answer is empty"
        kind = UnusableAnswerError if reply.reasoning or ending == "cut" else RefusedAnswerError
    if problem:
        raise kind(problem, reply.usage)
    return text


def _is_json(text: str) -> bool:
    try:
        return isinstance(msgspec.json.decode(text), dict)
    except (ValueError, RecursionError):
        return False


def read_reply(body: bytes, headers: Mapping[str, str] = MappingProxyType({})) -> Reply:
    """Return the reply of `/v1/chat/completions`, or of Ollama's `/api/chat`.

    Raises:
        ValueError: it is no such reply, or an error that names no status.
        StatusError: it is an error that was sent with status 200 and names another status.
    """
    reply = _object(body, headers)
    # 1. The message, and why it ended, in the server's words; None if it does not say.
    if isinstance(reply.get("choices"), list):
        choice = _first(reply["choices"])
        message, reason = choice.get("message"), choice.get("finish_reason")
        message = message if isinstance(message, dict) else {"content": choice.get("text")}
        unstated = str(reason or "no finish_reason")
    elif isinstance(message := reply.get("message"), dict):
        reason = (reply.get("done_reason") or "stop") if reply.get("done") is True else None
        unstated = "done: false"
    else:
        raise ValueError(f"the reply has neither choices nor a message: {body[:80].decode(errors='replace')!r}")
    # 2. Its text, in whatever field it is, and the reasoning beside it.
    content = message.get("content")
    text = content if isinstance(content, str) else _joined(content)
    reasonings = (message.get(name) for name in REASONING)
    reasoning = next((text for text in reasonings if isinstance(text, str) and text), "")
    if not text.strip():  # some servers put the answer in another field, and leave this one blank
        text = reasoning if _is_json(reasoning) else ""
    # 3. Its ending.
    ending: _Ending = "stop"
    if not isinstance(reason, str) or not reason:
        ending = "unstated"
    elif reason.lower() in WITHHELD | CUT:
        ending = "refused" if reason.lower() in WITHHELD else "cut"
    refusal = message.get("refusal")
    if isinstance(refusal, str) and not text:
        ending, unstated = "refused", refusal.strip() or "an empty refusal"
    model = reply.get("model")
    named = model if isinstance(model, str) else ""
    return Reply(text=text, reasoning=reasoning, ending=ending, unstated=unstated, model=named, usage=_usage(reply))


def _joined(parts: object) -> str:
    """Return the text of an answer in parts, without those of another kind, such as reasoning."""
    if isinstance(parts, dict):
        if "text" not in parts:  # the answer itself, which the server has decoded
            return json.dumps(parts)
        parts = [parts]
    texts = (part.get("text") if isinstance(part, dict) else part for part in parts) if isinstance(parts, list) else ()
    return "".join(text for text in texts if isinstance(text, str))


def usage_of(body: bytes) -> Usage | None:
    """Return the tokens that a reply of any kind names; None if it is an error that names its status."""
    try:
        return _usage(_object(body))
    except StatusError:
        return None
    except (ValueError, RecursionError):
        return Usage()


def _usage(reply: _Object) -> Usage:
    usage = reply.get("usage")
    read = _count(usage, "prompt_tokens") or _count(usage, "input_tokens") or _count(reply, "prompt_eval_count")
    written = _count(usage, "completion_tokens") or _count(usage, "output_tokens") or _count(reply, "eval_count")
    details = usage.get("prompt_tokens_details") if isinstance(usage, dict) else None
    return Usage(read, written, min(read, _count(details, "cached_tokens")))


def _count(holder: object, name: str) -> int:
    value = holder.get(name) if isinstance(holder, dict) else None
    return int(value) if isinstance(value, int | float) and 0 < value < TOKENS_MAX else 0


def _first(found: object) -> _Object:
    return found[0] if isinstance(found, list) and found and isinstance(found[0], dict) else {}


def _object(body: bytes, headers: Mapping[str, str] = MappingProxyType({})) -> _Object:
    """Return the object of a reply with status 200. Raises as `read_reply`; `UnusableAnswerError` for a stream."""
    if body.lstrip().startswith(b"data:"):
        raise UnusableAnswerError(STREAMS)
    reply = msgspec.json.decode(body)
    if not isinstance(reply, dict):
        raise ValueError(f"the reply is no object: {body[:80].decode(errors='replace')!r}")
    first = _first(reply.get("choices"))
    error = first.get("error") or (None if first else reply.get("error"))
    if not error and reply.get("object") == "error":
        error = {name: value for name, value in reply.items() if name != "object"}
    if not error:
        return reply
    text = json.dumps({"error": error})
    holders = [holder for holder in (error, reply) if isinstance(holder, dict)]
    named = [str(holder.get(name)) for holder in holders for name in ("code", "status", "status_code", "type")]
    numbers = (int(name) for name in named if name.isdecimal() and 400 <= int(name) < 600)
    status = next(numbers, next((_STATUS_OF[name.lower()] for name in named if name.lower() in _STATUS_OF), None))
    if status is not None:
        raise StatusError(status, text, retry_after_s(headers))
    raise ValueError(error_text(text))
