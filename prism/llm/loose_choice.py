"""Choices in loose wording, as small models write them where no grammar holds them: read if one option alone is meant.

A name in upper or lower case and with other separators, an object in single or typographic quotes, with comments or a
comma too many, and the bare word are taken. A text is not taken if it could mean two options, denies one, or says more
than a name where a name was asked for: asking again costs a call, and a guess costs the result.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence

from prism.llm.json_object import json_objects

REPAIRED = "repaired"
"""The method of a choice that was read in spite of its wording."""

MOST_CHARS = 4_000
"""The longest text that is read loosely. A choice takes a dozen tokens; a text of this length is something else."""

_QUOTES = (('"', '"'), ("'", "'"), ("`", "`"), ("“”„‟«»", "“”‟«»"), ("‘’‚‛‹›", "‘’‛‹›"))  # noqa: RUF001
"""The marks that begin a text, with those that end it."""
# Atomic groups, `(?>...)`: until Python 3.11.5, a possessive quantifier of a group with alternatives misses matches.
_COMMENT = r"(?://[^\n]*+|(?>/\*(?:(?!\*/)[\s\S])*\*/)|#[^\n]*+)"
_GAP = rf"(?>(?:\s|{_COMMENT})*)"
_END = rf"(?=\s*+(?:[,:}}]|{_COMMENT}))"
"""This follows the end of a quoted text, but not an apostrophe within one."""
_QUOTED = "|".join(rf"[{begin}](?:\\.|[^\n{{}}])*?[{end}]{_END}" for begin, end in _QUOTES)
_MARKS = "".join(begin for begin, _ in _QUOTES)
_TEXT = rf"(?:{_QUOTED}|[^\s{_MARKS}{{}}\[\]:,#/][^\n{_MARKS}{{}}\[\]:,#/]*+)"
_LIST = r"\[[^\[\]{}]*+\]"
_PAIR = re.compile(rf"{_GAP}(?P<key>{_TEXT}){_GAP}:{_GAP}(?P<value>{_TEXT}|{_LIST}){_GAP}(?P<more>,{_GAP})?")
_TOKEN = re.compile(rf"(?P<comment>{_COMMENT})|{_TEXT}")
_FENCE = re.compile(r"```[a-zA-Z0-9]*")
_WORD = re.compile(r"[^\W_]+")
_BETWEEN = re.compile(r"[\s,;\[\]`]*+")
_DENIAL = re.compile(
    r"\b(?:not?|never|neither|nor|none|without|except|avoid\w*|instead|rather|unless|cannot|wrong|or)\b|n['’]t\b",  # noqa: RUF001
    re.IGNORECASE,
)
"""The words around an object that may deny it."""


def repaired(text: str, key: str, options: Sequence[str]) -> str | None:
    """Return the JSON that a loosely worded answer means: an object with one of the options under the key.

    The other texts of the answer's object are in it, too.

    Returns:
        None if none of the options is meant, or not exactly one.
    """
    if len(text) > MOST_CHARS:
        return None
    plain = _FENCE.sub(" ", text).strip()
    bare = _option(plain, options)
    if bare is not None:
        return json.dumps({key: bare})
    found = list(_objects(plain))
    naming = [pairs for _, pairs in found if any(_same(name, key) for name, _ in pairs)]
    said = {_option(value, options) for pairs in naming for name, value in pairs if _same(name, key)}
    (option,) = said if len(said) == 1 else (None,)
    if option is None or _is_doubted(_around(plain, [span for span, _ in found]), option, options):
        return None
    rest = {name: value for name, value in naming[-1] if not _same(name, key)}
    return json.dumps({**rest, key: option})


def contradicts(text: str, read: str, key: str, option: str, options: Sequence[str]) -> bool:
    """Return whether an answer names another option besides the one that was read from it.

    A model may write in prose what it then rejects, so of objects in prose the last one counts. Objects without a word
    between them are all meant, and so are one in loose wording and every value under the key within an object.

    Args:
        read: the JSON object in the text that was read.
    """
    rest, objects = _FENCE.sub(" ", text), [read]
    for found in json_objects(text):
        rest = rest.replace(found, " ", 1)
        objects.append(found)
    values = [value for _, pairs in _objects(rest[:MOST_CHARS]) for name, value in pairs if _same(name, key)]
    for found in objects if _BETWEEN.fullmatch(rest) else [read]:
        pairs = json.loads(found, object_pairs_hook=list)
        values += [value for name, value in pairs if _same(name, key) and isinstance(value, str)]
    return bool({_option(value, options) for value in values} - {option})


def _option(value: str, options: Sequence[str]) -> str | None:
    if value in options:
        return value
    meant = [option for option in options if _plain(option) == _plain(value)]
    return meant[0] if len(meant) == 1 and _plain(value) else None


def _same(name: str, key: str) -> bool:
    return _plain(name) == _plain(key)


def _plain(name: str) -> str:
    """Return a name without case, separators between its words, marks around it, and a stop after it."""
    text = unicodedata.normalize("NFKC", _unquoted(name))
    return re.sub(r"(?<=\w)(?<!\d)[ \t_\-‐‑]+(?=\w)|(?<=\d)[ \t_\-‐‑]+(?=[^\W\d])", "", text).casefold()  # noqa: RUF001


def _unquoted(text: str) -> str:
    """Return a text without quotes and marks of emphasis around it, and without a stop or a comma at its end."""
    while True:
        shorter = re.sub(r"[.,;!]$", "", text.strip()).strip()
        pairs = (*_QUOTES, ("*", "*"))
        if len(shorter) > 1 and any(shorter[0] in begin and shorter[-1] in end for begin, end in pairs):
            shorter = shorter[1:-1]
        if shorter == text:
            return text
        text = shorter


def _objects(text: str) -> Iterator[tuple[tuple[int, int], list[tuple[str, str]]]]:
    """Yield `((begin, end), [(key, value), ...])` of each object that holds nothing but texts and lists of them."""
    end = 0
    while (begin := text.find("{", end)) >= 0:
        end, pairs = begin + 1, []
        while (pair := _PAIR.match(text, end)) is not None:
            pairs.append((_unquoted(pair["key"]), _unquoted(pair["value"])))
            end = pair.end()
            if pair["more"] is None:
                break
        if text[end : end + 1] == "}":
            end += 1
            yield (begin, end), pairs


def _around(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return the text of an answer besides the pairs of its objects: the prose around them, and their comments."""
    pieces, at = [], 0
    for begin, end in spans:
        comments = (token["comment"] for token in _TOKEN.finditer(text, begin, end))
        pieces += [text[at:begin], *filter(None, comments)]
        at = end
    return "\n".join([*pieces, text[at:]])


def _is_doubted(around: str, option: str, options: Sequence[str]) -> bool:
    """Return whether the words around an answer deny it, ask, or name another option."""
    if _DENIAL.search(around) or "?" in around:
        return True
    words = _words(around)
    return any(_words(other) in words for other in options if other != option and _words(other).strip())


def _words(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.casefold()))} "
