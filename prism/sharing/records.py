"""The fields of questions, and the record of a judgement as it stands in the oracle's log."""

from __future__ import annotations

import msgspec

Value = float | int | bool | str  # the value of a field: a number, a truth value or a text


def in_words(value: Value) -> str:
    """Return a value in words: a truth value is `yes` or `no`."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


Name = tuple[int, int, str]  # the name of a question: its agent, tick and trigger


class Judged(msgspec.Struct, frozen=True, array_like=True, gc=False, tag=10):
    """A distribution that the oracle gave to one question, for others to share, or to audit what they share."""

    asked: int  # the tick of the question; `agent` and `trigger`: its agent and its trigger
    agent: int
    trigger: str
    probabilities: tuple[float, ...]  # of the options, in the question's order; they add up to 1
    key: tuple[float | int | bool | str, ...]  # its archetype: state, trigger and options, and the group of each field
    values: tuple[float | int | bool | str, ...] = ()  # of its fields
    # in an audit, the distribution that its archetype shares; empty for a question that was asked for all
    shared: tuple[float, ...] = ()
    # the answers that the distribution was counted from; 0 for probabilities that the oracle gave itself
    samples: int = 0
    # the probability with which it was audited; it changes where a resume changes `oracle.sharing.audit`
    chance: float = 1.0
    calls: int = 0  # to a model that it took

    @property
    def weight(self) -> float:
        """The number of shared questions that an audit stands for."""
        return 1.0 / self.chance

    @property
    def calls_at_least(self) -> int:
        """The calls that it took, as far as they are recorded: one for each sample, and 1 or more."""
        return max(1, self.samples, self.calls)

    @property
    def name(self) -> Name:
        return self.agent, self.asked, self.trigger

    @property
    def kind(self) -> tuple[float | int | bool | str, ...]:
        """The state, trigger and options of the question: the part of `key` before the groups."""
        return self.key[: 2 + len(self.probabilities)]

    @property
    def is_audit(self) -> bool:
        """True for a question that was asked although its archetype has a judgement."""
        return bool(self.shared)
