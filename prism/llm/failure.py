"""A failed call to a language model: its reasons, what follows each, what a status means, and the exception."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final, Literal, NamedTuple, get_args

from prism.errors import OracleError
from prism.wording import clauses, cut

Reason = Literal[
    "timeout",
    "overloaded",
    "loading",
    "server_error",
    "connection_error",
    "invalid_response",
    "refused",
    "client_error",
]
REASONS: tuple[Reason, ...] = get_args(Reason)
"""The reasons of a failed call. `refused` is about one question; with `client_error` every other would fail, too."""

AFTER: Final[Mapping[str, tuple[Reason, ...]]] = {
    "hold": ("overloaded", "loading", "connection_error"),
    "retry": ("timeout", "server_error", "invalid_response"),
    "refuse": ("refused",),
    "stop": ("client_error",),
}
"""`{what follows: reasons}`, in a run that waits for its server.

hold: the server is to blame; the question is asked again for as long as its deadline allows, and deadlines stop in an
outage. retry: the question may be to blame; it is asked `oracle.max_attempts` times, and then gets a fallback. refuse:
as retry, but it says nothing about the server. stop: every question would fail; the run ends with a checkpoint.
"""


def reasons_to(*after: str) -> frozenset[str]:
    return frozenset(reason for what in after for reason in AFTER[what])


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
_ANYTHING = re.compile("")

_EMPTY = "the account has nothing left: add credit, or set another key or llm.host"
_OTHER_KEY = "the key is refused: set another one in the environment (llm.api_key_env)"
_FORBIDDEN = "the key may not be used for this: set another one in the environment (llm.api_key_env)"
_GONE = "the model or its path is no longer there: `prism doctor CONFIG` says what is"

_MEANINGS: tuple[tuple[Collection[int], re.Pattern[str], Reason, str], ...] = (
    ({400, 403, 413, 422, 451}, _CONTENT, "refused", ""),  # first: a filter repeats the question, with any word in it
    ({402}, _ANYTHING, "client_error", _EMPTY),
    ({400, 403, 429}, _ACCOUNT, "client_error", _EMPTY),
    ({503}, _LOADING, "loading", ""),
    ({409, 425, 429, 503}, _ANYTHING, "overloaded", ""),
    ({408}, _ANYTHING, "timeout", ""),
    (range(500, 1000), _ANYTHING, "server_error", ""),
    ({400}, _KEY, "client_error", _OTHER_KEY),
    ({400}, _MODEL, "client_error", _GONE),
    ({413, 422, 451}, _KEY, "client_error", ""),
    ({413, 422, 451}, _MODEL, "client_error", ""),
    ({400, 413, 422, 451}, _ANYTHING, "refused", ""),  # the first request was answered, and all have the same form
    ({401}, _ANYTHING, "client_error", _OTHER_KEY),
    ({403}, _ANYTHING, "client_error", _FORBIDDEN),
    ({404, 410}, _ANYTHING, "client_error", _GONE),
)
"""`(statuses, words, reason, what to do about it)`: the first row with a response's status and words counts.

The same status means different things: a 400 may refuse one question, because of its content or its length, or the
key, and with it every question.
"""


def meaning_of(status: int, body: str) -> tuple[Reason, str]:
    """Return the reason for a response that is no success, and what to do about it, which may be empty."""
    for statuses, words, reason, advice in _MEANINGS:
        if status in statuses and words.search(body):
            return reason, advice
    return "client_error", ""


FINAL = reasons_to("refuse", "stop")
"""The reasons after which the same request fails again; after any other it may succeed."""

_DETAIL_CHARS = 300


class Usage(NamedTuple):
    """The tokens of one call: read, written, and those of the read ones that were in the server's cache."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0


class LLMFailureException(OracleError):  # noqa: N818 - the contract's name
    """A call that gave no usable answer.

    Args:
        detail: a description, cut to one short line.
        latency_s: the time that the last attempt took.
        usage: the tokens that the call took all the same, as far as the server said.
        advice: what to do about it, as a part of a message; empty if unknown.
    """

    def __init__(  # noqa: PLR0913  # the facts of one failure
        self,
        reason: Reason,
        attempts: int = 1,
        component: str = "llm",
        status_code: int | None = None,
        detail: str = "",
        latency_s: float = 0.0,
        *,
        retry_after_s: float = 0.0,
        usage: Usage = Usage(),  # noqa: B008  # never changes
        advice: str = "",
    ) -> None:
        self.reason: Reason = reason
        self.attempts, self.component, self.status_code = attempts, component, status_code
        self.detail = cut(" ".join(detail.split()), _DETAIL_CHARS)  # a server's words go into logs and messages
        self.latency_s, self.retry_after_s = latency_s, retry_after_s
        self.usage, self.advice = usage, advice
        facts = f"attempts={attempts}" if status_code is None else f"attempts={attempts}, status={status_code}"
        super().__init__(f"{component}: {reason} ({facts})" + (f": {self.detail}" if self.detail else ""))

    def by(self, component: str, attempts: int) -> LLMFailureException:
        """Return the failure as that of another component, without the tokens and the advice."""
        return LLMFailureException(self.reason, attempts, component, self.status_code, self.detail, self.latency_s)

    @property
    def is_answer(self) -> bool:
        """True if the server answered with success, and what it said is of no use."""
        return self.status_code is None and self.reason in {"invalid_response", "refused"}

    @property
    def is_of_key(self) -> bool:
        """True if a server refused the key, and neither the account behind it nor one question."""
        return self.status_code in (401, 403) and self.reason == "client_error" and self.advice != _EMPTY

    @property
    def told(self) -> str:
        return clauses(self.detail, self.advice)
