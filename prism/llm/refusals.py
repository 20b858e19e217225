"""The reason for a status that is not 2xx, by the status and the server's own words, and what to do about it.

The same status means different things. A 400 may refuse one question, because of its content or its length, while
others are answered; or it may refuse the key, and with it every question. Words that name the key, the account or the
model tell the second from the first.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Final

from prism.llm.failure import LLMFailureException, Reason

_BUSY: Final = frozenset({HTTPStatus.CONFLICT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS, 503})
"""The statuses by which a server asks for a pause. Neither the question nor the server is at fault."""
_OF_A_QUESTION: Final = frozenset({400, 413, 422, 451})
"""The statuses that judge one request: each request had the same form, and the first was answered at the start."""

_ACCOUNT = re.compile(
    r"insufficient[_ ](?:quota|balance|credits?|funds)|billing_(?:hard_limit|not_active)|(?:credit|account) balance"
    r"|(?:out of|no|not enough|more) credits|payment required|arrear|overdue",
    re.IGNORECASE,
)
_KEY = re.compile(r"api[-_ ]?key|access[-_ ]?token|unauthori[sz]ed|authentication|credential", re.IGNORECASE)
_MODEL = re.compile(
    r"model[-_ ](?:not[-_ ]found|decommissioned|deprecated|not[-_ ]supported)|(?:unknown|no such|invalid) model"
    r"|model\b.{0,80}?\b(?:does not exist|not found|decommissioned|no longer|been (?:removed|retired|deprecated))",
    re.IGNORECASE | re.DOTALL,
)
_CONTENT = re.compile(
    r"content[-_ ]?(?:filter|policy|management|moderation)|moderat|flagged|safety|responsible[-_ ]?ai|prohibited"
    r"|inappropriate|usage polic|policy[-_ ]violation",
    re.IGNORECASE,
)
_LOADING = re.compile(r"\bloading\b|being loaded|warming up|starting up|not (?:yet )?ready", re.IGNORECASE)

_GONE = "the model or its path is no longer there: `prism doctor CONFIG` says what is"
_EMPTY_ACCOUNT: Final = "the account has nothing left: add credit, or set another key or llm.host"
_ADVICE: Final = {
    401: "the key is refused: set another one in the environment (llm.api_key_env)",
    402: _EMPTY_ACCOUNT,
    403: "the key may not be used for this: set another one in the environment (llm.api_key_env)",
    404: _GONE,
    410: _GONE,
}


def reason_of(status: int, body: str) -> Reason:
    """Return the reason for a response that is no success."""
    if _account_is_empty(status, body):
        return "client_error"
    if status == HTTPStatus.SERVICE_UNAVAILABLE and _LOADING.search(body):
        return "loading"
    if status in _BUSY:
        return "overloaded"
    if status == HTTPStatus.REQUEST_TIMEOUT:
        return "timeout"
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return "server_error"
    return "refused" if _refuses_one_question(status, body) else "client_error"


def advice_on(status: int, body: str) -> str:
    """Return what to do about a refusal that every question would meet, as a part of a message; empty if unknown.

    Args:
        body: the text of the response. Its code may tell what its message does not.
    """
    if reason_of(status, body) != "client_error":
        return ""
    if _account_is_empty(status, body):
        return _ADVICE[402]
    if status == HTTPStatus.BAD_REQUEST and _KEY.search(body):
        return _ADVICE[401]
    if status == HTTPStatus.BAD_REQUEST and _MODEL.search(body):
        return _GONE
    return _ADVICE.get(status, "")


def is_of_key(failure: LLMFailureException) -> bool:
    """Return whether a server refused the key, and neither the account behind it nor one question."""
    return failure.status_code in (401, 403) and failure.reason == "client_error" and failure.advice != _EMPTY_ACCOUNT


def _account_is_empty(status: int, body: str) -> bool:
    """Return whether no pause can help: a 429 is a limit in a time, unless its words name the account."""
    if status in (400, 403) and _CONTENT.search(body):  # a filter repeats the question, in which any word may stand
        return False
    return status == HTTPStatus.PAYMENT_REQUIRED or (status in (400, 403, 429) and _ACCOUNT.search(body) is not None)


def _refuses_one_question(status: int, body: str) -> bool:
    if _CONTENT.search(body):
        return status in _OF_A_QUESTION or status == HTTPStatus.FORBIDDEN
    return status in _OF_A_QUESTION and not (_KEY.search(body) or _MODEL.search(body))
