"""Probabilities of options: Ollama's /v1/systemone, and the probabilities of tokens in the forms of several servers.

Sources: Ollama (since 0.35), docs/api/systemone; llama.cpp, tools/server/README.md; OpenAI's and vLLM's `logprobs`.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from xxhash import xxh3_64_intdigest

from actors.testing.server import WRONG_STATE
from prism.rng import WORLD, Draw, uniform
from tests.standin.settings import ApiError, Logprobs, ServerSettings

STATE_MAX_BYTES = 64 << 10
_SHARPNESS = 4.0
_LINE = re.compile(r"^([A-Z])\. ", re.MULTILINE)
_QUOTED = re.compile(r'"([A-Z])"')
_OTHER_TOKENS = ("Sure", *(f"word{number}" for number in range(20)))
"""Tokens that are no letters, the likeliest first."""

Shares = dict[str, float]


def drawn_shares(names: Sequence[str], *key: object) -> Shares:
    """Return made-up probabilities, the same for the same key."""
    drawn = {
        name: uniform(xxh3_64_intdigest(repr((*key, name)).encode()), WORLD, 0, Draw.SERVER_ANSWER) for name in names
    }
    return normed({name: math.exp(_SHARPNESS * share) for name, share in drawn.items()})


def normed(weights: Mapping[str, float]) -> Shares:
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()}


def nearly_all(names: Sequence[str], chosen: str) -> Shares:
    """Return probabilities of which one option has 99%."""
    return normed({name: 99.0 * (len(names) - 1) if name == chosen else 1.0 for name in names})


def check_choice(body: Any) -> None:
    """Check a question for /v1/systemone. Raises: ApiError."""
    if len(json.dumps(body)) > STATE_MAX_BYTES:
        raise ApiError(413, "request body too large")
    questions = body.get("questions")
    if not isinstance(questions, dict) or not questions or not str(body.get("state") or "").strip():
        raise ApiError(400, "state and questions must not be empty")
    for label, question in questions.items():
        if question.get("type") != "choice" or not 2 <= len(question.get("criteria") or {}) <= 26:
            raise ApiError(400, f'question "{label}": criteria must contain 2-26 candidates')


def choices(body: Any, nonce: object, settings: ServerSettings, *, wrong: bool) -> dict[str, Any]:
    """Return the answer of /v1/systemone: a probability for each option. A reply hook names the choice."""
    answers = {}
    for label, question in body["questions"].items():
        options, state = list(question["criteria"]), str(body["state"])
        shares = drawn_shares(options, state, repr(question), nonce)
        if settings.weigh is not None:
            shares = normed(dict(zip(options, settings.weigh(state, options), strict=True)))
        if settings.reply is not None:
            shares = nearly_all(options, settings.reply(({"role": "user", "content": state},), {}, question))
        if wrong:
            shares = {WRONG_STATE: 1.0}
        entropy = -sum(share * math.log(share) for share in shares.values() if share > 0)
        confidence = min(max(1 - entropy / math.log(len(options)), 0.0), 1.0)
        choice = max(shares, key=shares.__getitem__)
        answers[label] = {"type": "choice", "choice": choice, "probabilities": shares, "confidence": confidence}
    asked = math.ceil(len(json.dumps(body)) / 4)
    return {"model": body["model"], "answers": answers, "usage": {"input_tokens": asked, "output_tokens": len(answers)}}


def check_letters(body: Any, mode: Logprobs) -> None:
    """Check a question for the probabilities of tokens. Raises: ApiError, as servers of this kind refuse it."""
    unknown = next((name for name in ("grammar", "structured_outputs") if name in body), None)
    if mode is Logprobs.REFUSED:
        raise ApiError(400, "logprobs are not supported by this model")
    if mode is Logprobs.PLAIN and unknown is not None:
        raise ApiError(400, f"Unrecognized request argument supplied: {unknown}")
    if mode is Logprobs.CHOICE and isinstance(body.get("logit_bias"), list):
        raise ApiError(400, "logit_bias: Input should be a valid dictionary")


def letters_of(body: Any) -> tuple[list[str], bool]:
    """Return the letters that a request asks for, and whether something keeps the model to them."""
    form, structured = body.get("format"), body.get("structured_outputs")
    choice = structured.get("choice") if isinstance(structured, dict) else None
    choice = form.get("enum") if isinstance(form, dict) else choice
    kept = list(map(str, choice)) if isinstance(choice, list) else _QUOTED.findall(str(body.get("grammar", "")))
    text = "\n".join(str(message.get("content", "")) for message in body["messages"])
    return (kept, True) if kept else (_LINE.findall(text), False)


def tokens_of(body: Any, said: str | Shares, mode: Logprobs) -> tuple[str, list[dict[str, Any]]]:
    """Return the text of an answer and its tokens, each with the likeliest ones in its place.

    Args:
        said: the probabilities of the letters; or a text that is no letter.
    """
    _, is_kept = letters_of(body)
    listed = int(body.get("top_logprobs") or 0)
    gives_shares = mode is Logprobs.GRAMMAR and body.get("post_sampling_probs") is True

    def token(text: str, shares: Shares) -> dict[str, Any]:
        likeliest = sorted(shares.items(), key=lambda pair: -pair[1])[:listed]
        if gives_shares:
            tops = [{"token": name, "prob": share} for name, share in likeliest]
            return {"token": text, "prob": shares[text], "top_probs": tops}
        tops = [{"token": name, "logprob": math.log(share)} for name, share in likeliest]
        return {"token": text, "logprob": math.log(shares[text]), "top_logprobs": tops}

    if isinstance(said, str):
        first = said.partition(" ")[0]
        return said, [token(first, {first: 1.0})] if first else []
    written = max(said, key=said.__getitem__)
    needed = {Logprobs.GRAMMAR: "post_sampling_probs", Logprobs.CHOICE: "structured_outputs"}.get(mode, "")
    if mode is Logprobs.RAW or (needed and needed not in body and "format" not in body):
        said = {written: 0.5, **{word: 0.5 / len(_OTHER_TOKENS) for word in _OTHER_TOKENS}}
    elif not is_kept:  # the probability of all other tokens if nothing restricts the model to the letters
        said = {letter: 0.97 * share for letter, share in said.items()} | {_OTHER_TOKENS[0]: 0.03}
    if not isinstance(body.get("format"), dict):
        return written, [token(written, said)]
    quote = token('"', {'"': 1.0})
    return f'"{written}"', [quote, token(written, said), quote]
