"""The questions of traced turns as nodes: the texts that a model read, its replies, the answer, and the shares.

The requests to a model are worked out again byte for byte as its server got them: the oracle of the run is asked once
more, with a model in place of the real one that notes what it is asked and answers from the tape. Without a tape it
notes the request and ends the question there: nothing is sent anywhere.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from actors.core.files import json_value
from actors.core.messages import LATE, Codec, QuestionName, Retried, name_of_question
from actors.display.words import usd
from actors.explain.retrace import OpenRun, PlacedQuestion, Trace, TracedTurn
from actors.explain.tree import TEXT, Node, plain, shares
from actors.factory.oracle_backends import tape_path
from actors.runs.directory import TAPE
from actors.store.oracle_log import LoggedAnswer, judgements_in, logged_in
from prism.agents import Question, Source, StatefulAgent
from prism.domain import Domain
from prism.llm import LLMFailureException, Tape, TapedModel
from prism.llm.headers import question_id
from prism.llm.letters import METHOD as LETTERS
from prism.llm.letters import lettered_chat
from prism.llm.model_client import messages_of
from prism.llm.port import ChatRequest, ChoiceRequest, Completion, Distribution, Health, Identity, Undecided
from prism.llm.spending import Ledger, cost_usd
from prism.llm.tape import TapeError, TapeMissError
from prism.quoting import compact, number
from prism.sharing.archetypes import Judged

EMBEDDED: Final = "embedded"  # the method of an answer that was computed, and so took no call
SHARED: Final = "shared"  # the method of an answer that was drawn from a judgement of others
PARTS: Final = {
    "asked for all": "this question was asked for all of its archetype, which shares",
    "audited": "this question is an audit: it was asked by itself, though its archetype shares",
    SHARED: "what its archetype shared, and it drew from",
}
"""`{part of a question among those that share: what comes before the probabilities}`."""

Decisions = Mapping[QuestionName, int]  # `{question: the tick in which its decision took effect}`
Logged = list[LoggedAnswer | Retried]


async def questions_of(run: OpenRun, trace: Trace, decisions: Decisions) -> dict[QuestionName, tuple[Node, ...]]:
    """Return `{question of a trace: its nodes}`, the first of which is `asked`. It reads a log, and blocks."""
    # A turn with the decision comes later than the one that asked, and knows more.
    asked = {name_of_question(each.question): each for each in trace.turns if each.question is not None}
    answers: dict[QuestionName, Logged] = {}  # their records in the oracle's log, up to any damage
    for logged in logged_in(run.path) if asked else ():
        name = (logged.agent, logged.asked, logged.trigger)
        if name in asked and isinstance(logged, LoggedAnswer | Retried):
            answers.setdefault(name, []).append(logged)
    own: dict[QuestionName, Judged] = {}
    if run.config.oracle.sharing.by != "none":
        own = {each.name: each for each in judgements_in(run.path) if each.name in asked}
    found: dict[QuestionName, tuple[Node, ...]] = {}
    with requests_of(run) as requests:
        for name, each in asked.items():
            answer = _answer(run, each, answers.get(name, []), decisions.get(name))
            sent, is_sent = await _requests(run, each, answer, requests)
            sharing = _sharing(each, answer, trace.places.get(name), own.get(name))
            parts = [_asked(run, each, answer, is_sent=is_sent), *sent, answer or Node("answer", "none yet")]
            if answer is not None and answer.value["content"] is not None:
                parts.append(Node("content", compact(without_chain(answer.value["content"]))))
            found[name] = (*parts, *sharing, *_embedded(each, answer, is_sharing=bool(sharing)))
    return found


def without_chain(value: Any) -> Any:
    """Return the step of a policy without its chain of reasoning, which repeats other lines."""
    return {name: each for name, each in value.items() if name != "chain"} if isinstance(value, Mapping) else value


def _asked(run: OpenRun, traced: TracedTurn, answer: Node | None, *, is_sent: bool) -> Node:
    question, domain = traced.question, traced.domain
    assert question is not None  # noqa: S101  # the caller checked
    encoded = Codec(domain.context_type, domain.effect_type).encode(question)
    options = [*map(str, question.options)]
    value = {
        "id": question_id(run.header.seed, question.tick, question.agent, encoded),
        "tick": question.tick,
        "agent": question.agent,
        "trigger": question.trigger,
        "state": str(question.state),
        "options": options,
        "is_sent": is_sent,
    }
    # A server was sent the id of the question, or may be later; the id of any other question is of no use.
    told = f"question {value['id']}: " if is_sent or answer is None else ""
    return Node("asked", f"{told}{' or '.join(options)}", value=value)


def _answer(run: OpenRun, traced: TracedTurn, logged: Logged, decided_in: int | None) -> Node | None:
    """Return the answer by the oracle's log; by the decision for an embedded oracle, which keeps no log."""
    found = next((each for each in logged if isinstance(each, LoggedAnswer)), None)
    decision = traced.trigger.decision
    # What was given, how the oracle found it (empty for a fallback), and the failed calls before it.
    given: Any = found
    method, before, ledger, is_shared = "", list[Retried](), Ledger(), False
    if found is not None:
        method, ledger = found.method, Ledger(found.spent)
        before = [each for each in logged[: logged.index(found)] if isinstance(each, Retried)]
        for each in before:
            ledger.add(each.spent)
        is_shared = not found.spent and not found.reason and found.method != EMBEDDED
        if decision is not None and decision.reason == LATE:
            given, method = replace(found, state=decision.state, source=str(Source.TIMEOUT), reason=LATE), ""
    elif decision is not None:
        given, decided_in = decision, traced.trigger.tick
        method = EMBEDDED if run.config.oracle.backend == "choice" else ""
    else:
        return None
    latency_s = None if found is None else found.latency_s
    spent = [] if found is None else plain(ledger.total)
    cost = None if found is None else cost_usd(ledger, run.config.llm.prices)
    how = f", {given.reason}" if given.reason else f" by {method}" if method else ""
    parts = [f"{given.state}, from {given.source}{how}"]
    parts += [] if latency_s is None else [f"after {latency_s:.3f} s"]
    parts += [f"asked again after {', '.join(each.reason for each in before)}"] if before else []
    for each in spent:
        tokens = f"{each['prompt_tokens']:,} tokens in, {each['completion_tokens']:,} out"
        parts.append(f"{each['calls']} {each['outcome']} ({tokens})")
    if is_shared:
        drawn = "drawn from a judgement that it shares with questions like it"
        parts.append(f"no call of its own: {drawn if method == SHARED else 'a tape had the answer'}")
    parts += [] if cost is None else [usd(cost)]
    parts.append("not in the journal yet" if decided_in is None else f"decided in tick {decided_in:,}")
    try:
        content = json_value(given.content) if given.content else None
    except ValueError:
        content = given.content
    value = {
        "state": given.state,
        "source": str(given.source),
        "reason": given.reason,
        "method": method,
        "content": content,
        "latency_s": latency_s,  # from the question's arrival at the oracle to this answer
        "attempts": [each.reason for each in before],
        "spent": [*spent],  # the calls to a model that it took, by outcome, with those of the attempts
        "cost_usd": cost,
        "is_shared": is_shared,  # whether it took no call of its own
        "decided_in": decided_in,
    }
    return Node("answer", "; ".join(parts), value=value)


async def _requests(
    run: OpenRun, traced: TracedTurn, answer: Node | None, requests: Requests
) -> tuple[list[Node], bool]:
    """Return the requests of a question with their replies, and whether it was put to the oracle by itself."""
    method = "" if answer is None else answer.value["method"]
    is_drawn, is_sent = method == SHARED, answer is not None and method != SHARED
    found: list[Node] = []
    if run.config.oracle.backend != "choice" and traced.asker is not None and traced.question is not None:
        found = await requests.of(traced.domain, traced.asker, traced.question, "" if is_drawn else method)
    if is_drawn:  # a tape may have the reply to another person's identical text
        found = [each for each in found if each.kind != "replied"]
    if answer is not None and is_sent and method != EMBEDDED and answer.value["latency_s"] is not None:
        is_sent = bool(answer.value["spent"]) or any(each.kind == "replied" for each in found)
    shown: list[Node] = []
    for place, each in enumerate(found, 1):
        shown.append(each if is_sent or each.kind == "replied" else replace(each, kind="would read"))
        if is_sent and each.kind == "sent" and not any(after.kind == "replied" for after in found[place : place + 1]):
            shown.append(Node("replied", "not on a tape; the answer below is from oracle.log"))
    return shown, is_sent


def _sharing(
    traced: TracedTurn, answer: Node | None, placed: PlacedQuestion | None, own: Judged | None
) -> Sequence[Node]:
    """Return the place of a question among those that share judgements.

    `placed`: where it was placed when its tick was done again; `own`: its own judgement.
    """
    is_drawn = answer is not None and answer.value["method"] == SHARED
    if traced.question is None or (own is None and not is_drawn):
        return ()
    options = [*map(str, traced.question.options)]
    part = SHARED if own is None or is_drawn else "audited" if own.is_audit else "asked for all"
    found = [] if placed is None or not placed.archetype else [Node("archetype", placed.archetype)]
    known: Sequence[float] = () if own is None else own.shared or own.probabilities
    if placed is not None and not known:
        known = placed.place.basis.probabilities
    by_option = dict(zip(options, known, strict=True)) if known else {}
    told = f": {shares(by_option)}" if known else ""
    found.append(Node("shared", f"{PARTS[part]}{told}", value={"part": part, "probabilities": by_option or None}))
    if part == "audited" and own is not None and own.probabilities:
        judged = dict(zip(options, own.probabilities, strict=True))
        words = f"what it was told itself, and drew from: {shares(judged)}"
        found.append(Node("judged", words, value={"probabilities": judged}))
    return found


def _embedded(traced: TracedTurn, answer: Node | None, *, is_sharing: bool) -> Sequence[Node]:
    """Return the probabilities by the embedded choice for this agent, if the domain has them."""
    likely, relevance = traced.reference.probabilities, traced.reference.relevance
    if likely is None or traced.question is None:
        return ()
    by_option = dict(zip(map(str, traced.question.options), map(float, likely), strict=True))
    words = f"{shares(by_option)}{'' if relevance is None else f'; relevance {number(relevance)}'}"
    if answer is None or answer.value["method"] != EMBEDDED:
        words = f"the embedded choice{' for this agent alone' if is_sharing else ''}: {words}"
    return (Node("embedded", words, value={"probabilities": by_option, "relevance": relevance}),)


SYSTEMONE = "systemone"


class _EndError(Exception):
    """The error that ends a question whose reply is not on any tape."""


class Requests:
    """A model that notes its requests, and answers what its tapes have.

    Args:
        dialect: how the server was told a schema; empty if that is not known: messages are as the oracle wrote them.
        usual: the usual way of choosing an option, by `Health.note`: `systemone`, `logprobs` or `json`.
        tapes: the tapes of the run and of those that it branched off, its own first.
    """

    name = "none"
    identity = Identity(backend="none", model="", dialect="", options={})

    def __init__(self, dialect: str = "", usual: str = "", tapes: Sequence[TapedModel] = ()) -> None:
        self._dialect, self._usual, self._tapes = dialect, usual, tapes
        self._found: list[Node] = []
        self._method = ""

    async def of(self, domain: Domain, asker: StatefulAgent[Any], question: Question[Any], method: str) -> list[Node]:
        """Return the requests of a question in order, each `sent`, and `replied` after it if a tape has the reply.

        Args:
            asker: the agent that asked, as the oracle saw it.
            method: how the answer was found, by the oracle's log; empty if that is not known.
        """
        self._found, self._method = [], method or self._usual
        options = [type(asker.state)(option) for option in question.options]
        oracle = domain.oracle(self)
        logger = logging.getLogger("prism")  # a decision is logged when it is made, not when it is worked out again
        level = logger.level
        logger.setLevel(logging.CRITICAL)
        try:
            # It fails if the tape holds a failure or a text that cannot be read, or if no further answer is known.
            with suppress(Exception):
                await oracle.checked_answer(asker, asker.state, question.trigger, options, question.context)
        finally:
            logger.setLevel(level)
        return self._found

    async def complete(self, request: ChatRequest) -> Completion:
        self._sent("chat", "as a chat", self._messages(request), schema=request.schema)
        for tape in self._tapes:
            try:
                said = await tape.complete(request)
            except TapeMissError:
                continue
            except LLMFailureException as error:
                self._replied(error, problem=_problem(error))
                raise
            self._replied(said, said.model, text=said.text)
            return said
        raise _EndError

    async def choose(self, request: ChoiceRequest) -> Distribution | Undecided | None:
        """Note a choice, if it was put to the server as a choice, and return its reply on a tape."""
        for tape in self._tapes:
            try:
                found = await tape.choose(request)
            except TapeMissError:
                continue
            except LLMFailureException as error:
                self._note_choice(request, self._usual)
                self._replied(error, problem=_problem(error))
                raise
            if isinstance(found, Distribution):
                self._note_choice(request, found.method)
                self._replied(found, found.model, probabilities=found.probabilities)
            elif found is not None:
                self._note_choice(request, LETTERS)
                self._replied(found, problem=found.reason)
            return found
        if self._method not in (SYSTEMONE, LETTERS):
            return None
        self._note_choice(request, self._method)
        raise _EndError

    async def check(self) -> Health:
        raise _EndError

    async def aclose(self) -> None:
        """Do nothing."""

    def _note_choice(self, request: ChoiceRequest, method: str) -> None:
        if method == LETTERS:
            texts = self._messages(lettered_chat(request, seed=0, max_tokens=1))
            self._sent("letters", "as a chat that is answered with a letter", texts, options=request.options)
            return
        options = [f"{name}: {meaning}" if meaning else name for name, meaning in request.options.items()]
        texts = [("instructions", request.instructions), ("state", request.state)]
        texts.append(("options", "\n".join(options)))
        self._sent(SYSTEMONE, "for probabilities (systemone)", texts, options=request.options)

    def _sent(self, way: str, words: str, texts: Iterable[tuple[str, str]], **told: Any) -> None:
        self._found.append(Node("sent", words, value={"way": way, **told}, children=(*map(_text, texts),)))

    def _replied(
        self, call: Completion | Distribution | Undecided | LLMFailureException, model: str = "", **told: Any
    ) -> None:
        """Add the reply to the latest request. `told`: the text, the probabilities, or the problem."""
        usage = call.usage
        tokens = f"{usage.prompt_tokens:,} tokens in, {usage.completion_tokens:,} out, {call.latency_s:.3f} s"
        value = {"model": model, **usage._asdict(), "latency_s": call.latency_s, **told}
        texts = (
            ("shares" if name == "probabilities" else name, shares(each) if isinstance(each, dict) else each)
            for name, each in told.items()
            if each
        )
        words = f"{model or 'the server'}, {tokens}"
        self._found.append(Node("replied", words, value=value, children=(*map(_text, texts),)))

    def _messages(self, request: ChatRequest) -> list[tuple[str, str]]:
        """Return the roles and contents of the messages of a chat as the server got them."""
        return [
            (each["role"], each["content"]) for each in messages_of(request.messages, request.schema, self._dialect)
        ]


def _text(named: tuple[str, str]) -> Node:
    return Node(TEXT, named[1], value={"name": named[0]})


def _problem(error: LLMFailureException) -> str:
    return f"{error.reason}: {error.detail}" if error.detail else error.reason


class TapedRequests(Requests, TapedModel):
    """Requests with tapes. It is a `TapedModel`, so an oracle treats its answers as a replay's."""

    mode = "replay"
    model = None

    def __init__(self, dialect: str, usual: str, tapes: Sequence[TapedModel]) -> None:
        super().__init__(dialect, usual, tapes)
        self.identity = tapes[0].identity


@contextmanager
def requests_of(run: OpenRun) -> Iterator[Requests]:
    """Provide the requests of a run. If a tape cannot be read, no reply is known, as without a tape."""
    usual = next((method for method in (SYSTEMONE, LETTERS) if f"({method})" in run.manifest.oracle), "json")
    # The tapes of the run and of the runs beside it that it branched off.
    paths = [run.path / TAPE]
    with suppress(TapeError):  # a kept tape that was changed is no evidence about this run
        paths.insert(0, tape_path(run.config, run.path))
    beside = run.path.resolve().parent
    paths += [beside / Path(fork.parent).name / TAPE for fork in reversed(run.manifest.forks)]
    tapes = list[TapedModel]()
    with ExitStack() as stack:
        for path in dict.fromkeys(paths) if run.config.oracle.backend != "choice" else ():
            with suppress(TapeError):
                tape = stack.enter_context(closing(Tape(path, "look"))) if path.is_file() else None
                if tape is not None and tape.header() is not None:
                    tapes.append(TapedModel(None, tape, "replay"))
        yield (TapedRequests if tapes else Requests)(run.manifest.dialect, usual, tapes)
