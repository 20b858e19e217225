"""The protocols of a world and a domain: all that the runtime asks of them, and a user's domain may implement."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, Protocol, cast, runtime_checkable

import msgspec
import numpy as np

from prism.agents.stateful import StatefulAgent
from prism.agents.turn import Decision, Question, Trigger, Update
from prism.agents.waves import Answered, Decisions, Forms, Kind, QuestionKind, Questions, Updates, Wave
from prism.checked import Checked
from prism.columns import Column, Columns, Ints
from prism.config.interventions import InterventionConfig
from prism.errors import ConfigError
from prism.expressions import Field
from prism.llm.port import LanguageModel
from prism.no_effect import NoEffect
from prism.rows import Values
from prism.statechart import Oracle, Statechart
from prism.statechart.behaviour import Reader
from prism.tables import Table


class InputFiles(Protocol):
    """The input files of a user's domain: a resume recognises each file that was read here by its SHA-256."""

    def read(self, path: str) -> bytes:
        """Return the content of a file, unpacked if its name ends in .gz.

        Raises:
            InputError: it is missing, or cannot be read.
        """


class Measure(Checked, frozen=True, kw_only=True):
    """One number of a world at the end of a tick.

    A world has the same measures, by name and labels, from its first tick to its last, however many agents it has.

    Args:
        name: in base units and with a prefix of its own, such as `prism_posts_total`; a counter ends in `_total`.
        help: what it counts or measures, in one line.
        kind: a `counter` never falls, a `gauge` may.
        labels: `{label: value}`, each value from a small fixed set.
    """

    name: str
    help: str
    kind: Literal["counter", "gauge"]
    value: float
    labels: dict[str, str] = msgspec.field(default_factory=dict)


class World(Protocol):
    """The state of the whole simulation. The engine is the only one that changes it.

    In each tick the engine calls it for the triggers, then for the decisions that are due, then for the reactions, each
    time in the order of agent numbers. So a world needs no locks. It must depend only on what the engine gives it.
    """

    def triggers(self, tick: int) -> Sequence[Trigger[Any]]:
        """Return the triggers of this tick: ascending by agent, at most one for each.

        Agents that deliberate get none. Agents whose last update says `quarantine` get none: they would not answer.
        """

    def reactions(self, tick: int) -> Sequence[Trigger[Any]]:  # noqa: ARG002  # most worlds have none
        """Return the triggers that follow, in the same tick, from what was applied in it.

        It is called again until it returns none. The rules of `triggers` hold for each call.
        Source: the macrosteps of Harel & Naamad (1996).
        """
        return ()

    def apply(self, update: Update[Any]) -> None:
        """Apply an agent's update: carry out its effect, and plan the agent's next trigger."""

    def apply_all(self, updates: Updates) -> None:
        """Apply the updates of a wave, in the order of agents. A world that can do it in columns is faster."""
        for update in updates:
            self.apply(update)

    def deliberates(self, question: Question[Any]) -> None:
        """Note that an agent waits for the oracle. It gets no trigger until its decision comes back as an update."""

    def all_deliberate(self, questions: Questions[Any]) -> None:
        """Note that agents wait for the oracle. A world that can do it in columns is faster."""
        for question in questions:
            self.deliberates(question)

    def intervene(self, tick: int, intervention: InterventionConfig) -> None:  # noqa: ARG002  # nothing is done
        """Carry out an intervention at the beginning of a tick, before its `triggers` are asked for.

        Its changes must be in `columns`. Interventions of one tick come in the order of the configuration.

        Raises:
            ConfigError: this world takes no interventions.
        """
        raise ConfigError("configuration", f"a {type(self).__name__} takes no interventions", key="interventions")

    tables: Sequence[Table] = ()
    """The tables of what takes place in this world, beside those of every run."""

    def take_rows(self) -> Mapping[str, Sequence[Any]]:
        """Return what has taken place since the last call, and forget it: `{table: rows}` of the declared tables.

        The rows are tuples; or their columns, as `prism.rows.Values`, in a tuple. The engine calls it after each
        intervention and after each wave of answers, and adds them to the journal.
        """
        return {}

    def totals(self) -> dict[str, Any]:
        """Return this world's part of the run's summary, as JSON values."""

    def measures(self) -> Sequence[Measure]:
        """Return the numbers that a running world shows: the same names and labels each time. Called between ticks."""
        return ()

    def highlights(self) -> Sequence[str]:
        """Return a few lines about the world now, for a person who looks at the run. It changes nothing.

        It is called once a second while somebody looks, also within a tick, so it must be quick.
        """
        return ()

    def columns(self) -> Iterator[Column]:
        """Yield, piece by piece, all that `restore` needs to continue as if the run had not been interrupted.

        Called between two ticks. Nothing changes until the last piece has been taken.
        """

    def restore(self, columns: Columns) -> None:
        """Take over the state that these columns hold. Called once, on a new world, before its first tick."""


class Reference(NamedTuple):
    """The embedded view of a question that an oracle answers, as far as there is one.

    Args:
        relevance: of the post, or whatever the choice is about, to the agent: 0 to 1.
        probabilities: of the options, in their order, by the embedded choice.
    """

    relevance: float | None = None
    probabilities: Sequence[float] | None = None


NO_REFERENCE: Final = Reference()


class Domain(Protocol):
    """A kind of simulation: its world, its agents and their chart."""

    @property
    def size(self) -> int:
        """The number of agents; they are numbered from 0."""

    @property
    def chart(self) -> Statechart[Any]:
        """The statechart that all agents share."""

    @property
    def world(self) -> World: ...

    @property
    def context_type(self) -> Any:
        """The type of a trigger's context; `None` for no context."""

    @property
    def effect_type(self) -> Any:
        """The type of an update's effect; `None` for no effect."""

    def agent(self, agent_id: int) -> StatefulAgent[Any]:
        """Return the agent as its last applied update left it: a new one at the start, the same one after a restart."""

    def asker(self, question: Question[Any]) -> StatefulAgent[Any]:
        """Return the agent that asks a question, as an oracle may see it: its persona, state and tick."""

    @property
    def checkpoint_every_ticks(self) -> int:
        """The ticks between two checkpoints that are worth their cost, unless the configuration sets them."""

    def oracle(self, model: LanguageModel | None = None) -> Oracle[Any]:
        """Return the oracle that asks this model, or without a model the embedded oracle, which needs no server."""


class QuestionFields(Protocol):
    """The fields of a domain's questions."""

    def question_fields(self) -> Mapping[str, tuple[Field, Reader]]:
        """Return `{field: (the field, its reader)}` of every field."""

    def default_fields(self) -> Sequence[str]:
        """Return the fields by which questions are alike unless the configuration says others."""


class HasWords:
    """A domain that can say more about itself. It may have any of these members: `said_by` fills in the others."""

    def in_words(self, rounds: int) -> str:  # noqa: ARG002  # the default
        """Return the first sentence about a run of so many whole rounds. Called once, at the run's end."""
        return ""

    @property
    def understood(self) -> Sequence[str]:
        """Lines for `prism validate` and the beginning of a run: how input files were understood."""
        return ()

    def notes(self) -> Sequence[str]:
        """Return lines about settings whose effect is not what they say, before the first tick."""
        return ()

    def no_effect(self) -> Sequence[NoEffect] | None:
        """Return the parts of the configuration without an effect, before a run; None if the domain knows none."""
        return None

    def reference(self, question: Question[Any]) -> Reference:  # noqa: ARG002  # the default
        """Return the relevance of what a question is about, and the embedded choice's probabilities of its options."""
        return NO_REFERENCE

    @property
    def fields(self) -> QuestionFields | None:
        """The fields of its questions, by which they may share judgements; None if they have none."""
        return None


_SILENT: Final = HasWords()


class _Words:
    def __init__(self, domain: Domain) -> None:
        self._domain = domain

    def __getattr__(self, name: str) -> Any:
        return getattr(self._domain if hasattr(self._domain, name) else _SILENT, name)


def said_by(domain: Domain) -> HasWords:
    """Return all that a domain may say about itself: its own words, and the defaults of those that it does not have."""
    return cast("HasWords", _Words(domain))


class Stretch(NamedTuple):
    """The outcome of ticks that were run together.

    Args:
        tables: `{table: (its columns, the rows up to the end of each wave of each tick)}`: updates and questions by the
            numbers of their kinds, and what took place.
        kinds: the kinds of updates, by number; asked_kinds: those of questions.
        updates: how often each kind of update took place, by its number.
        pending: the questions asked whose answers have not taken effect.
        wave: the triggers of the tick after them, if it has begun; None if it has not.
    """

    ticks: int
    tables: Mapping[str, tuple[Sequence[Values], Ints]]
    kinds: Sequence[Kind]
    asked_kinds: Mapping[int, QuestionKind]
    triggers: int
    updates: Sequence[int]
    asked: int
    pending: Sequence[Answered]
    wave: Sequence[Trigger[Any]] | None


class Turns(Protocol):
    """The turns of a domain's agents, many at once: each is the number of a kind of update, of a question, or ALONE."""

    forms: Sequence[Kind]
    """The kinds of updates so far, by number. Questions have an empty entry."""

    asked: Mapping[int, QuestionKind]
    """The kinds of questions so far, by number."""

    def number(self, kind: Kind) -> int:
        """Return the number of a kind of update."""

    def prepare(self) -> None:
        """Do the slow work of the first `take` beforehand."""

    def take(self, wave: Wave[Any], numbers: Ints) -> None:
        """Write the outcomes of the turns of a wave into `numbers`."""

    def questions(self, wave: Wave[Any], places: Ints, numbers: Ints) -> Questions[Any] | None:
        """Return the questions of a wave, at these places, in columns; None if they must be made one by one."""

    def settled(self, decisions: Decisions[Any]) -> Ints:
        """Return the outcomes of the turns that bring decisions."""

    def stretch(
        self, ticks: range, delay: int, answers: Forms, oracle: Oracle[Any], pending: Sequence[Answered]
    ) -> Stretch | None:
        """Run the first of these ticks and others, with all that follows; None if they must be run one by one.

        Nobody looks at the world between them, and the ticks after them are not the last. An answer takes effect after
        `delay` ticks; those of `pending`, oldest first, have not yet.
        """

    def decided(self, asked: int, decision: Decision, agent: int) -> int:
        """Return the outcome of the turn of an agent whose question, by its number, has been decided."""


ALONE: Final = -1
"""The number of a turn that an agent must take by itself."""


@runtime_checkable
class HasFutures(Protocol):
    """A domain that can begin again with the same agents, whatever is drawn afterwards."""

    def anew(self, draws: int) -> Domain:
        """Return this domain at its beginning, with the same agents. Later draws have the seed `draws`."""

    def withhold(self, post: int) -> None:
        """Keep a post, named by its id, from being published. This is for futures of a run: no checkpoint stores it."""

    def ties(self) -> tuple[Ints, Ints]:
        """Return the ties as they are now: the followers, and whom each of them follows; both empty without ties."""
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)


@runtime_checkable
class HasTurns(Protocol):
    """A domain whose world sends waves and keeps all about its agents, so many turns are taken at once, or divided."""

    def one_by_one(self) -> Sequence[str]:
        """Return the rows of the chart, a line each, because of which turns must be taken one by one."""

    def turns(self, *, asks: bool) -> Turns:
        """Return the turns of its agents; `asks`: put choices to the oracle, and do not take the first option."""

    def prepare(self, agent_ticks: int) -> None:
        """Prepare, if that pays for a run of so many agents times ticks, and unless it is done already."""

    def again(self) -> Callable[[], Domain]:
        """Return a function that makes this domain at its beginning, here or in another process."""

    def shard(self) -> Any:
        """Return its world as one of several, as `prism.social.world.SocialWorld` is."""
