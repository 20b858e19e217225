"""The errors that PRISM raises on purpose.

    PrismError
    +-- ConfigError                 a configuration that cannot be run        (exit 3)
    |   +-- SettingError            a value that a section cannot hold        (exit 3; also a ValueError)
    |   +-- InputError              a graph, profile or other input file      (exit 3)
    +-- StatechartError             a chart or a row that cannot work         (also a ValueError)
    +-- ExpressionError             a text that is no expression            (also a ValueError)
    +-- OracleError                 an oracle that cannot answer
    |   +-- OracleResponseError     an answer that names no option            (also a ValueError)
    |   |   +-- NotAnOptionError    a state that is none of the options
    |   +-- OracleUnavailableError  no backend to ask                         (exit 5)
    |       +-- OracleOutageError   a server that stays away                  (exit 5)
    |       +-- OracleSpentError    a spend cap, within a tick                (exit 4)
    |       +-- UnansweredError     a question whose failure ends the run     (exit 5)
    |           +-- OracleFailedError   no answer, and no fallback is possible
    |           +-- OracleRefusedError  the server refuses it for good
    +-- (actors.core.errors) ActorError  what goes wrong between running actors

Fields hold the facts; the class writes the message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from prism.quoting import printable
from prism.wording import cut

TOLD_MAX = 20
"""The most wrong settings that one error tells of, a line each."""


class PrismError(Exception):
    """The base class of every error that PRISM raises on purpose. Another process can rebuild it from its pickle."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[PrismError], message: tuple[object, ...], fields: dict[str, object]) -> PrismError:
    error = kind.__new__(kind, *message)  # without its class writing the message again
    error.__dict__.update(fields)
    return error


class ConfigError(PrismError):
    """A configuration that cannot be run.

    Args:
        source: the place of the value: a file name, `--set`, or an environment variable.
        problem: what is wrong and what was expected.
        key: the dotted path of the wrong key, if one key is wrong.
        line: the 1-based line in `source`, if it is known.
    """

    def __init__(self, source: str, problem: str, *, key: str | None = None, line: int | None = None) -> None:
        self.source = source
        self.problem = problem
        self.key = key
        self.line = line
        self.others: tuple[ConfigError, ...] = ()
        """The further mistakes of the configuration, as far as they are known: a line of the text each."""
        place = source if line is None else f"{source}:{line}"
        # A value in it may have a line end, and each error is one line.
        super().__init__(printable(f"{place}: {problem}" if key is None else f"{place}: {key}: {problem}"))

    def __str__(self) -> str:
        told = [super().__str__(), *map(str, self.others[: TOLD_MAX - 1])]
        more = len(self.others) + 1 - len(told)
        return "\n".join([*told, f"and {more:,} more"] if more else told)


def together(errors: Sequence[ConfigError]) -> ConfigError:
    """Return the first of some errors of one configuration, which tells of the others, too."""
    first, *others = errors
    first.others = (*first.others, *others)
    return first


class SettingError(ConfigError, ValueError):
    """A value that a section of a configuration cannot hold, or values that cannot hold together.

    `keys`: the dotted paths of the settings involved, the first one to blame unless more is known.
    """

    def __init__(self, source: str, problem: str, *, keys: Sequence[str]) -> None:
        self.keys = tuple(keys)
        super().__init__(source, problem, key=self.keys[0])


class InputError(ConfigError):
    """An input file that cannot be used: a graph, profiles."""


class StatechartError(PrismError, ValueError):
    """A chart, row or recorded transition that cannot work."""


class ExpressionError(PrismError, ValueError):
    """A text that is no expression of the declared fields; `column`: the 1-based column of the problem."""

    def __init__(self, text: str, column: int, problem: str) -> None:
        self.text = text
        self.column = column
        self.problem = problem
        super().__init__(f"column {column} of {cut(text, 60)!a}: {problem}")


class OracleError(PrismError):
    """An oracle that cannot answer."""

    reason: str = "oracle_error"
    """One word from a fixed set, by which fallbacks are counted."""

    @property
    def is_answer(self) -> bool:
        """True if the oracle has answered, and the answer is of no use."""
        return False


class OracleResponseError(OracleError, ValueError):
    """An answer that names none of the options."""

    reason = "invalid_response"

    @property
    def is_answer(self) -> bool:
        return True

    def __init__(self, response: str, options: Sequence[str], problem: str) -> None:
        self.response = response
        self.options = tuple(options)
        self.problem = problem
        super().__init__(f"{problem}: {response[:200]!r}; expected one of: {', '.join(self.options)}")


class NotAnOptionError(OracleResponseError):
    """An answer that is a state, and none of the options."""

    reason = "not_an_option"

    def __init__(self, state: object, options: Sequence[str]) -> None:
        self.state = state
        super().__init__(repr(state), options, "not one of the options")


class OracleUnavailableError(OracleError):
    """No oracle backend to ask: not installed, not reachable, or not configured."""


class UnansweredError(OracleUnavailableError):
    """A question that got no answer, and whose failure ends the run: its tick is not committed.

    `reason`: in one word; `detail` says more.
    """

    def __init__(self, agent: int, tick: int, trigger: str, reason: str, detail: str = "") -> None:
        self.agent, self.tick, self.trigger = agent, tick, trigger
        self.failure, self.detail = reason, detail
        super().__init__(self._message())

    def _message(self) -> str:
        cause = _cause(self.failure, self.detail)
        return f"agent {self.agent} got no answer to {self.trigger!r} in tick {self.tick}: {cause}"


class OracleFailedError(UnansweredError):
    """A question that got no answer, in a domain without fallbacks; `tries`: the calls that were made for it."""

    def __init__(self, agent: int, tick: int, trigger: str, reason: str, detail: str = "", tries: int = 1) -> None:
        self.tries = tries
        super().__init__(agent, tick, trigger, reason, detail)

    def _message(self) -> str:
        rest = f"the run ends with the {self.tick} ticks before it; `prism resume` goes on from there"
        again = f"; it was asked {self.tries} times" if self.tries > 1 else ""
        return f"{super()._message()}{again}; {rest if self.tick else 'nothing was run'}"


class OracleRefusedError(UnansweredError):
    """A question that the server refuses for a reason that all questions share: the key, the account, or the model."""

    def _message(self) -> str:
        return (
            f"the server refuses every question, first that of agent {self.agent} about {self.trigger!r} in tick "
            f"{self.tick}: {_cause(self.failure, self.detail)}; the run ends with its whole ticks; once that is "
            "mended, `prism resume` goes on and asks it again"
        )


class OracleOutageError(OracleUnavailableError):
    """A server that was away for longer than the run waits, `since` the first of the calls that failed in a row."""

    def __init__(self, waited_s: float, since: datetime, ticks: int, reason: str, detail: str = "") -> None:
        self.waited_s, self.since, self.ticks = waited_s, since, ticks
        self.failure, self.detail = reason, detail
        super().__init__(
            f"the oracle has not answered for {waited_s:.0f} s, since {since:%Y-%m-%d %H:%M:%S} UTC: "
            f"{_cause(reason, detail)}; the run ends with its {ticks:,} whole ticks, and no choice was made for "
            "anybody; once the oracle is back, `prism resume` goes on and asks the open questions"
        )


class OracleSpentError(OracleUnavailableError):
    """A spend cap, `{cap: (used, most)}`, reached within a tick: it is given up, and its open questions stay open."""

    def __init__(self, caps: Mapping[str, tuple[float, float]], ticks: int) -> None:
        self.caps, self.ticks = caps, ticks
        used = ", ".join(f"{used:,g} of oracle.max_{name} {most:,g}" for name, (used, most) in caps.items())
        raised = " ".join(f"--set oracle.max_{name}=..." for name in caps)
        super().__init__(
            f"the spend cap is reached: {used}; the run ends with its {ticks:,} whole ticks, and no choice was made "
            f"for anybody; `prism resume RUN --accept-settings {raised}` goes on and asks the open questions"
        )


def _cause(reason: str, detail: str) -> str:
    return f"{reason} ({detail})" if detail else reason
