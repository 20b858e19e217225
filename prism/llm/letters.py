"""Choices by letters: each option gets a letter, and the probabilities of the next token are those of the options.

A model that writes one letter is asked for far less than one that writes JSON, and the server tells how likely each
letter was. That is sound only if every letter is listed, with nearly all of the probability. A server that lists the
tokens as they were before its grammar often misses some, so each answer is checked, and one that fails the check
is no answer: a missing letter is not a letter of probability 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from string import ascii_uppercase
from typing import Any, Final, NamedTuple

import msgspec

from prism.llm.port import ChatRequest, ChoiceRequest, Message

METHOD: Final = "logprobs"
"""The method of a distribution that was read from letters."""
LISTED: Final = 20
"""The most tokens that OpenAI and Ollama list beside the one that was written."""
OPTIONS: Final = range(2, LISTED + 1)
UNLISTED: Final = "it lists no probabilities"
SUM_MIN: Final = 0.9
SUM_MAX: Final = 1.01
"""The probabilities of all letters together."""
AROUND: Final = " \t\r\n\"'"
"""The characters that may stand around a letter in its token."""
BIAS: Final = 100.0
"""The bias that puts every letter before all other tokens. It is the same for each, so their proportions stay."""
PROBE: Final = ChoiceRequest(
    state="It is noon, and there is not one cloud in the sky.",
    instructions="Choose the colour of the sky.",
    options={"blue": "As on a fine day", "grey": "As in rain", "red": "As at sunset", "green": None, "black": None},
)
"""A question with one right answer, so that the other letters are as unlikely as they get: the hardest test."""


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """A token with those that might have stood in its place, and its probability in one of two forms.

    Args:
        logprob: the logarithm of the probability; servers write null, or -9999, for a token that cannot be.
        prob: the probability itself, as llama.cpp writes it after sampling.
    """

    token: str
    logprob: float | None = None
    prob: float | None = None
    top_logprobs: tuple[Token, ...] | None = None
    top_probs: tuple[Token, ...] | None = None

    def weights(self, letters: Sequence[str]) -> dict[str, float]:
        """Return the probabilities of the letters that might have stood here.

        Two tokens may be one letter, with and without a space or a quote: they are added. Each text counts once. A
        token without a probability, or with the logarithm of 0, was cut off.
        """
        found, seen = dict[str, float](), set[str]()
        for each in (*(self.top_probs or ()), *(self.top_logprobs or ()), self):
            weight = each.prob
            if weight is None and each.logprob is not None:
                weight = math.exp(min(each.logprob, 1.0)) or None
            letter = each.token.strip(AROUND)
            if weight is not None and letter in letters and each.token not in seen:
                found[letter] = found.get(letter, 0.0) + weight
            seen.add(each.token)
        return found


def read_tokens(body: bytes) -> tuple[Token, ...]:
    """Return the tokens with their probabilities in a reply of either interface. Raises: ValueError."""
    found = msgspec.json.decode(body)
    try:
        choices = found.get("choices")  # of OpenAI's interface; `logprobs` beside it is Ollama's
        listed = choices[0].get("logprobs") if choices else None
        tokens = listed.get("content") if listed else found.get("logprobs")
    except (AttributeError, LookupError, TypeError) as error:
        raise ValueError("the probabilities of the tokens have another shape") from error
    return msgspec.convert(tokens or (), tuple[Token, ...])


class Form(NamedTuple):
    """A form of request in which some servers give the probabilities of letters: its fields, for these letters."""

    fields: Callable[[Sequence[str]], dict[str, Any]]
    max_tokens: int = 1


def lettered_chat(request: ChoiceRequest, *, seed: int, max_tokens: int) -> ChatRequest:
    """Return the question with a letter before each option. What is the same for all people comes first."""
    lines = (
        f"{letter}. {name}" if meaning is None else f"{letter}. {name}: {meaning}"
        for letter, (name, meaning) in zip(ascii_uppercase, request.options.items(), strict=False)
    )
    rules = f"{request.instructions} The options are:\n\n" + "\n".join(lines)
    rules += "\n\nAnswer with the letter of one option and with nothing else."
    return ChatRequest(
        messages=request.lettered
        or (Message(role="system", content=rules), Message(role="user", content=request.state)),
        seed=seed,
        max_tokens=max_tokens,
        asked_by=request.asked_by,
        model=request.model,
    )


def read_weights(tokens: Sequence[Token], letters: Sequence[str]) -> tuple[float, ...] | str:
    """Return the weight of each letter, in the first place where they have nearly all of the probability.

    What was written there does not matter: it is one draw from the weights.

    Returns:
        Where there is no such place, the problem of the first place.
    """
    problem = ""
    for place in tokens:
        weights = place.weights(letters)
        missing, total = [letter for letter in letters if letter not in weights], sum(weights.values())
        if missing:
            problem = problem or f"it wrote {place.token[:40]!r} and does not list {', '.join(missing)}"
        elif min(weights.values()) < 0.0 or not SUM_MIN <= total <= SUM_MAX:
            problem = problem or f"the probabilities of the letters add up to {total:.3g}, not to 1"
        else:
            return tuple(weights[letter] for letter in letters)
    return problem or UNLISTED


def at_temperature(weights: Sequence[float], temperature: float) -> tuple[float, ...]:
    """Return the shares that sampling at this temperature gives; at 0 the largest weight, the first of equals, is 1."""
    largest = max(weights)
    if temperature == 0.0:
        best = list(weights).index(largest)
        return tuple(float(index == best) for index in range(len(weights)))
    raised = [(weight / largest) ** (1.0 / temperature) for weight in weights]
    return tuple(weight / sum(raised) for weight in raised)


def _grammar(letters: Sequence[str]) -> dict[str, Any]:
    """Return the fields of llama.cpp: one letter, and the probabilities after sampling with no option cut off.

    Some versions sample without the grammar first, and list what they sampled from. The bias keeps all letters there.
    """
    return {
        "grammar": "root ::= " + " | ".join(f'"{letter}"' for letter in letters),
        "logit_bias": [[letter, BIAS] for letter in letters],
        "post_sampling_probs": True,
        "samplers": ["temperature"],
        "top_k": 0,
        "top_p": 1.0,
        "min_p": 0.0,
    }


OPENAI_FORMS: Final = (
    Form(_grammar),
    Form(lambda letters: {"structured_outputs": {"choice": list(letters)}}),
    Form(lambda _: {}),
)
"""For llama.cpp, vLLM, and OpenAI and others that list the likeliest tokens."""
OLLAMA_FORMS: Final = (
    # A quote, the letter, a quote, the end.
    Form(lambda letters: {"format": {"type": "string", "enum": list(letters)}}, max_tokens=4),
    Form(lambda _: {}),
)
