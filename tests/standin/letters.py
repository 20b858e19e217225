"""Lettered questions: the probabilities of tokens, in the forms in which servers list them.

Source: llama.cpp, tools/server/README.md; OpenAI's and vLLM's `logprobs`; Ollama, docs/api.md.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence

import msgspec

from tests.standin.answers import WRONG_STATE, Reply
from tests.standin.draw import key_of, share_for
from tests.standin.errors import ApiError
from tests.standin.settings import Logprobs

_SHARPNESS = 4.0
_LINE = re.compile(r"^([A-Z])\. ", re.MULTILINE)
_QUOTED = re.compile(r'"([A-Z])"')
_CHOOSING = ("grammar", "structured_outputs", "guided_choice")
_ELSEWHERE = 0.03
"""The probability of all other tokens if nothing restricts the model to the letters."""
_OTHER_TOKENS = ("Sure", *(f"word{number}" for number in range(20)))
"""Tokens that are no letters, the likeliest first."""

Messages = Sequence[Mapping[str, object]]
Tokens = list[dict[str, object]]


class Letters(msgspec.Struct, frozen=True, kw_only=True):
    """The letters that a request asks for, and the form in which their probabilities are listed.

    Args:
        names: the letters.
        listed: the most tokens listed in one place; None where the server lists none.
        is_raw: True if tokens are listed as they were before the restriction to the letters.
        is_kept: True if something restricts the model to the letters.
        is_quoted: True if the letter is written as JSON.
        gives_shares: True for probabilities instead of their logarithms.
    """

    names: tuple[str, ...]
    listed: int | None
    is_raw: bool
    is_kept: bool
    is_quoted: bool
    gives_shares: bool


def asked_letters(mode: Logprobs, body: Mapping[str, object], messages: Messages) -> Letters | None:
    """Return the letters that a request asks for; None if it asks for no probabilities.

    Raises:
        ApiError: a server of this kind refuses the request; status 400.
    """
    if body.get("logprobs") is not True:
        return None
    if mode is not Logprobs.OFF:
        _check_fields(mode, body)
    form, structured, listed = body.get("format"), body.get("structured_outputs"), body.get("top_logprobs")
    choice = structured.get("choice") if isinstance(structured, dict) else body.get("guided_choice")
    choice = form.get("enum") if isinstance(form, dict) else choice
    if isinstance(choice, list):
        names = [str(letter) for letter in choice]
    else:
        names = _QUOTED.findall(str(body.get("grammar", "")))
    return Letters(
        names=tuple(names or _LINE.findall("\n".join(str(message.get("content", "")) for message in messages))),
        listed=None if mode is Logprobs.OFF else listed if isinstance(listed, int) else 0,
        is_raw=_lists_raw(mode, body),
        is_kept=bool(names),
        is_quoted=isinstance(form, dict),
        gives_shares=mode is Logprobs.GRAMMAR and body.get("post_sampling_probs") is True,
    )


def _check_fields(mode: Logprobs, body: Mapping[str, object]) -> None:
    if mode is Logprobs.REFUSED:
        raise ApiError(400, "logprobs are not supported by this model")
    unknown = next((name for name in _CHOOSING if name in body), None)
    if mode is Logprobs.PLAIN and unknown is not None:
        raise ApiError(400, f"Unrecognized request argument supplied: {unknown}")
    if mode is Logprobs.CHOICE and isinstance(body.get("logit_bias"), list):
        raise ApiError(400, "logit_bias: Input should be a valid dictionary")


def _lists_raw(mode: Logprobs, body: Mapping[str, object]) -> bool:
    if mode is Logprobs.GRAMMAR:
        return "post_sampling_probs" not in body and "format" not in body
    if mode is Logprobs.CHOICE:
        return "structured_outputs" not in body and "format" not in body
    return mode is Logprobs.RAW


def say_letters(letters: Letters, messages: Messages, nonce: object, reply: Reply | None) -> str:
    """Return the probability of each letter as JSON.

    A reply hook gets the letters as a schema, and names the letter that gets nearly all of the probability. If it names
    no letter, its text is the answer. The hook is not called if no probabilities are listed, because the letter then
    decides nothing.
    """
    if reply is None or letters.listed is None:
        key = key_of(json.dumps(messages, sort_keys=True), nonce)
        weights = {letter: math.exp(_SHARPNESS * share_for(key, letter)) for letter in letters.names}
    else:
        said = reply(messages, {}, {"type": "string", "enum": list(letters.names)})
        if said not in letters.names:
            return said
        weights = {letter: 99.0 * (len(letters.names) - 1) if letter == said else 1.0 for letter in letters.names}
    total = sum(weights.values())
    return json.dumps({letter: weight / total for letter, weight in weights.items()})


def say_no_letter() -> str:
    """Return a text that is none of the letters."""
    return WRONG_STATE


def tokens_of(letters: Letters, content: str) -> tuple[str, Tokens | None]:
    """Return the text of an answer and its tokens with the likeliest ones beside them; None if none is listed."""
    text, tokens = _spoken(letters, content)
    return text, None if letters.listed is None else tokens


def _spoken(letters: Letters, content: str) -> tuple[str, Tokens]:
    try:
        shares = json.loads(content)
    except ValueError:
        shares = None
    if not isinstance(shares, dict):
        first = content.partition(" ")[0]
        return content, [_token(letters, first, {first: 1.0})] if first else []
    written = max(shares, key=lambda letter: shares[letter])
    if letters.is_raw:
        shares = {written: 0.5, **{word: 0.5 / len(_OTHER_TOKENS) for word in _OTHER_TOKENS}}
    elif not letters.is_kept:
        elsewhere = {_OTHER_TOKENS[0]: _ELSEWHERE}
        shares = {letter: (1.0 - _ELSEWHERE) * share for letter, share in shares.items()} | elsewhere
    token = _token(letters, written, shares)
    if not letters.is_quoted:
        return written, [token]
    quote = _token(letters, '"', {'"': 1.0})
    return f'"{written}"', [quote, token, quote]


def _token(letters: Letters, text: str, shares: Mapping[str, float]) -> dict[str, object]:
    """Return one token with the likeliest ones in its place, as probabilities or as their logarithms."""
    likeliest = sorted(shares.items(), key=lambda pair: -pair[1])[: letters.listed]
    if letters.gives_shares:
        return {
            "token": text,
            "prob": shares[text],
            "top_probs": [{"token": token, "prob": share} for token, share in likeliest],
        }
    return {
        "token": text,
        "logprob": math.log(shares[text]),
        "top_logprobs": [{"token": token, "logprob": math.log(share)} for token, share in likeliest],
    }
