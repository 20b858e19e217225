"""The requests to a model for a question, worked out again byte for byte as its server got them, with its replies.

The oracle of the run is asked once more, with a model in place of the real one that notes what it is asked and answers
from the tape. Without a tape it notes the request and ends the question there: nothing is sent anywhere.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from actors.explain.retrace import OpenRun
from actors.explain.tree import TEXT, Node, shares
from actors.factory.oracle_backends import tape_path
from actors.runs.directory import TAPE
from prism.agents import Question, StatefulAgent
from prism.domain import Domain
from prism.llm import LLMFailureException, Tape, TapedModel
from prism.llm.letters import METHOD as LETTERS
from prism.llm.letters import lettered_chat
from prism.llm.model_client import messages_of
from prism.llm.port import ChatRequest, ChoiceRequest, Completion, Distribution, Health, Identity, Undecided
from prism.llm.tape import TapeError, TapeMissError

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
        """Note a chat, and return its reply on a tape."""
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
        self._found.append(Node(kind="sent", text=words, value={"way": way, **told}, children=(*map(_text, texts),)))

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
        self._found.append(Node(kind="replied", text=words, value=value, children=(*map(_text, texts),)))

    def _messages(self, request: ChatRequest) -> list[tuple[str, str]]:
        """Return the roles and contents of the messages of a chat as the server got them."""
        return [
            (each["role"], each["content"]) for each in messages_of(request.messages, request.schema, self._dialect)
        ]


def _text(named: tuple[str, str]) -> Node:
    return Node(kind=TEXT, text=named[1], value={"name": named[0]})


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
    """Provide the requests of a run, and close its tapes in the end.

    If a tape cannot be read, no reply is known, as without a tape.
    """
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
