"""One HTTP call: its deadline, and the reason for each way in which it can fail."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx

from prism.llm.body import beginning_of, bound_body
from prism.llm.failure import LLMFailureException, Reason, Usage
from prism.llm.question_id import ASKED
from prism.llm.refusals import advice_on, reason_of

# Cancelling a call under a full pool blocks httpcore for good, so the pool has no limit: the caller limits the calls.
LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=64)

SECRET_CHARS_MIN = 8
"""The shortest key that is removed from a text wherever it stands. A shorter one occurs in ordinary words."""

_EXPECTED = (
    httpx.HTTPError,  # timeouts, cut and reset connections, replies that are not HTTP
    OSError,  # TimeoutError of the deadline, and ConnectionError, into which `ollama` turns httpx.ConnectError
    ValueError,  # not JSON, not the promised fields
    TypeError,  # JSON of another shape, which `ollama` does not expect
    RecursionError,  # JSON nested thousands deep
)


class StatusError(Exception):
    """A response whose status is not 2xx.

    Args:
        status: its status; `body`: its text.
    """

    def __init__(self, status: int, body: str, pause_s: float = 0.0) -> None:
        self.status = status
        self.body = body
        self.pause_s = pause_s
        super().__init__(error_text(body) or f"HTTP {status}")


class UnusableAnswerError(ValueError):
    """An answer that cannot be used, and was paid for."""

    def __init__(self, problem: str, usage: Usage = Usage()) -> None:  # noqa: B008  # never changes
        self.usage = usage
        super().__init__(problem)


class RefusedAnswerError(UnusableAnswerError):
    """A question that is refused: by the model, by a filter behind it, or by PRISM."""


async def raise_for_status(response: httpx.Response) -> None:
    """Limit the body, and raise `StatusError`: a response hook that runs before anything reads the body.

    It also runs before `ollama`, which cannot read every error body.
    """
    try:
        bound_body(response)
    except ValueError as error:
        if response.is_success:
            raise
        raise StatusError(response.status_code, str(error), retry_after_s(response.headers)) from None
    if response.has_redirect_location:
        place = urlsplit(response.headers["location"])._replace(query="", fragment="").geturl()
        raise StatusError(
            response.status_code, f"it sends on to {place}, and is not followed; set llm.host or llm.request.path"
        )
    if not response.is_success:
        raise StatusError(response.status_code, await beginning_of(response), retry_after_s(response.headers))


async def name_question(request: httpx.Request) -> None:
    """Add the headers that name the question, unless `llm.request.headers` has set them: a request hook."""
    asked = ASKED.get()
    if asked is not None:
        for name, value in asked.headers().items():
            request.headers.setdefault(name, value)


HOOKS: dict[str, list[Callable[..., Any]]] = {"request": [name_question], "response": [raise_for_status]}
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
        reason = _reason(error)
        detail = f"no whole answer within {deadline_s:g} s" if reason == "timeout" else str(error)
        raise LLMFailureException(
            reason,
            component=component,
            status_code=error.status if isinstance(error, StatusError) else None,
            detail=redacted(secrets, detail or type(error).__name__),
            latency_s=perf_counter() - started_s,
            retry_after_s=error.pause_s if isinstance(error, StatusError) else 0.0,
            usage=error.usage if isinstance(error, UnusableAnswerError) else Usage(),
            advice=advice_on(error.status, error.body) if isinstance(error, StatusError) else "",
        ) from error


def _reason(error: BaseException) -> Reason:
    match error:
        case StatusError(status=status, body=body):
            return reason_of(status, body)
        case RefusedAnswerError():
            return "refused"
        case TimeoutError() | httpx.TimeoutException():
            return "timeout"
        case OSError() | httpx.TransportError():
            return "connection_error"
    return "invalid_response"


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


_UNITS_S = {"d": 86_400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_PART = r"(\d+(?:\.\d+)?)(ms|[dhms])"
_DURATION, _PARTS = re.compile(f"(?:{_PART})+"), re.compile(_PART)

_LIMITS = tuple(
    (f"{before}remaining{after}", f"{before}reset{after}")
    for before in ("x-ratelimit-", "ratelimit-")
    for after in ("-requests", "-tokens", "")
) + tuple(
    (f"anthropic-ratelimit-{what}-remaining", f"anthropic-ratelimit-{what}-reset")
    for what in ("requests", "tokens", "input-tokens", "output-tokens")
)
"""Pairs of headers: the rest of a limit, and the time until it is full again, or the moment."""

_EPOCH_S, _EPOCH_MS = 1e9, 1e12
"""Numbers from here on are seconds, or milliseconds, since 1970: no pause is as long."""

LONGEST_S = 86_400.0
"""No pause is longer: a damaged header must not stop a run for years."""


def retry_after_s(headers: Mapping[str, str]) -> float:
    """Return the seconds to wait before the next request; 0 if the headers ask for none, or cannot be read.

    `Retry-After` counts, the one in milliseconds first. A moment is compared with the server's own clock in `Date`, or
    with the clock here. Without it, the limits that have nothing left count; where a server does not say what is left,
    the first limit to be full again.

    Args:
        headers: of a response, by name in lower case, as `httpx.Headers` are.
    """
    now = headers.get("date", "")
    for name, unit_s in (("retry-after-ms", 0.001), ("x-ms-retry-after-ms", 0.001), ("retry-after", 1.0)):
        if (seconds := _wait_s(headers.get(name, ""), now, unit_s)) is not None:
            return _bounded(seconds)
    resets = [(headers.get(left), _wait_s(headers.get(reset, ""), now)) for left, reset in _LIMITS]
    used_up = [seconds for left, seconds in resets if seconds is not None and left is not None and left.strip() == "0"]
    unsaid = [seconds for left, seconds in resets if seconds is not None and left is None]
    return _bounded(max(used_up, default=min(unsaid, default=0.0)))


def _wait_s(text: str, now: str, unit_s: float = 1.0) -> float | None:
    """Return the seconds that a header asks for: a duration, or the time until a moment; None if it is neither.

    Args:
        now: the server's `Date`.
    """
    seconds = duration_s(text)
    if seconds is None:
        moment = _moment(text)
    elif _EPOCH_S <= seconds < math.inf:
        moment = datetime.fromtimestamp(min(seconds / (1000.0 if seconds >= _EPOCH_MS else 1.0), _EPOCH_MS / 10), UTC)
    else:
        return seconds * (unit_s if text.strip()[-1:].isdigit() else 1.0)
    if moment is None:
        return None
    here = datetime.now(UTC)  # noqa: TID251  # a pause of the process: it enters no result
    return (moment - (_moment(now) or here)).total_seconds()


def _moment(text: str) -> datetime | None:
    """Return a date of HTTP in any of its three forms, or one of RFC 3339; None if it is none. Its zone is UTC."""
    try:
        found = datetime.fromisoformat(text) if text[:1].isdigit() else parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def duration_s(text: str) -> float | None:
    """Return a duration such as `6`, `6s`, `1m30s` or `120ms` in seconds; None if it is none."""
    text = text.strip().lower()
    try:
        return float(text)
    except ValueError:
        if _DURATION.fullmatch(text) is None:
            return None
    return sum(float(number) * _UNITS_S[unit] for number, unit in _PARTS.findall(text))


def _bounded(seconds: float) -> float:
    """Return seconds from 0 to a day; NaN is 0, because every comparison with it is false."""
    return min(seconds, LONGEST_S) if seconds > 0.0 else 0.0
