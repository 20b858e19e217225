"""One HTTP call: its deadline, and the reason for each way in which it can fail."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx

from prism.errors import OracleUnavailableError
from prism.llm.failure import REASONS, LLMFailureException, Reason, Usage, meaning_of
from prism.llm.gateway import ATTEMPT_HEADER, DEADLINE_HEADER, FAILURE_HEADER
from prism.llm.question_id import ASKED, REQUEST_ID
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
"""The hooks of every client."""


@contextmanager
def bounded_call(component: str, deadline_s: float, secrets: Collection[str] = ()) -> Iterator[None]:
    """Return a context that limits one call to its last byte: a server that drips bytes would pass any read timeout.

    Args:
        secrets: the texts that no message may show.

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

    A moment is compared with the server's own clock in `Date`, or with the clock here.

    Args:
        headers: of a response, by name in lower case, as `httpx.Headers` are.
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
