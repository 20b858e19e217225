"""An oracle's probabilities of choices that people made, beside the choices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import anyio
import msgspec
from anyio import to_thread

from actors.core.errors import RunDirectoryError, first_error
from actors.factory.domains import build_domain
from actors.factory.input_files import read_input
from actors.factory.oracle_backends import open_oracle
from actors.oracle.call import Answer
from actors.oracle.single_calls import SingleCalls
from actors.runs.directory import RunDirectory
from actors.runs.shadow import asked_config, away
from actors.runtime.simulation import limits_of
from prism.agents import Question
from prism.domain import reference_of
from prism.errors import InputError, OracleOutageError
from prism.scored import Choice, Score, scored
from prism.social.choice_file import GivenChoice, parse_choices
from prism.social.domain import SocialDomain
from prism.social.posts.post import PostView
from prism.statechart import Judgement

ANSWERED = "answered"


class AgainstSummary(msgspec.Struct, frozen=True, kw_only=True):
    """An oracle beside choices that people made.

    Args:
        oracle: the oracle in words; file: the file of the choices.
        outcomes: `{answered, or the reason why there is no answer: choices}`; only the first ones are scored.
    """

    oracle: str
    file: str
    outcomes: dict[str, int]
    score: Score


async def against(directory: RunDirectory, file: str, overrides: Sequence[str] = ()) -> AgainstSummary:
    """Ask an oracle for its probabilities of choices that people made. The caller holds the run's lock.

    The run gives the people, the chart and the settings; its events do not matter.

    Args:
        file: of the choices.
        overrides: `a.b=value` each: settings of the oracle and the model.

    Raises:
        RunDirectoryError: it is no run of people, or a setting is not one of the oracle.
        ConfigError: a setting is wrong.
        InputError: the file cannot be read, or no choice has an answer.
        OracleUnavailableError: the oracle cannot be asked, or stayed away.
    """
    config = await to_thread.run_sync(partial(asked_config, directory, overrides, is_whole=False))
    domain = (await to_thread.run_sync(build_domain, config)).domain
    if not isinstance(domain, SocialDomain):
        raise RunDirectoryError(f"{directory.path}: only choices of people on a feed can be compared")
    given = await to_thread.run_sync(_given, file, domain)
    outcomes, choices = Counter[str](), list[Choice]()
    reference = reference_of(domain)

    def count(question: Question[PostView], did: str, answer: Answer) -> None:
        outcomes[answer.reason or ANSWERED] += 1
        if answer.judgement is not None:
            choices.append(_choice(question, did, answer.judgement, reference(question).relevance))

    try:
        async with open_oracle(config, domain, directory.path) as opened, anyio.create_task_group() as tasks:
            samples = config.oracle.sharing.samples
            calls = SingleCalls(opened.oracle, limits_of(config), config.llm.prices, tasks, samples)
            for number, each in enumerate(given):
                question = _question(domain, number, each)
                await calls.ask(domain.asker(question), question, partial(count, question, each.did))
                await anyio.lowlevel.checkpoint()
    except BaseExceptionGroup as group:
        if (outage := first_error(group, OracleOutageError)) is not None:
            raise away(directory, outage) from None
        raise
    if not choices:
        reasons = ", ".join(f"{reason} {times:,}" for reason, times in sorted(outcomes.items()))
        raise InputError(file, f"no choice has an answer of the oracle: {reasons}")
    told = dict(sorted(outcomes.items()))
    return AgainstSummary(oracle=opened.description, file=file, outcomes=told, score=scored(choices))


def _given(file: str, domain: SocialDomain) -> list[GivenChoice]:
    source = read_input(file)
    return parse_choices(source.data, source.name, domain.size, domain.chart.question_kinds())


def _question(domain: SocialDomain, number: int, given: GivenChoice) -> Question[Any]:
    """Return a choice as a question; facts about the post that the file lacks are computed for the person."""
    shown, options = given.shown, given.options
    if shown.topic_match < 0.0:
        interests = domain.population.personas[given.person].interests
        match = sum(topic in interests for topic in shown.topics) / max(1, len(shown.topics))
        shown = msgspec.structs.replace(shown, topic_match=match)
    if shown.popularity < 0.0:
        engagements = shown.likes + shown.replies + shown.reshares
        half = domain.config.population.relevance.popularity_half
        shown = msgspec.structs.replace(shown, popularity=engagements / (engagements + half))
    # The tick separates two questions to one person: a tape and a draw depend on it.
    return Question(number, given.person, given.trigger, given.state, options, shown)


def _choice(question: Question[PostView], did: str, judgement: Judgement, relevance: float | None) -> Choice:
    return Choice(
        options=tuple(question.options),
        probabilities=judgement.probabilities,
        did=did,
        relevance=relevance,
        samples=judgement.samples,
    )
