"""Tokens: the smallest pieces of an expression's text."""

from __future__ import annotations

import re
from math import isinf
from typing import Final, Literal, NamedTuple

from prism.errors import ExpressionError

_TOKEN: Final = re.compile(
    r"""[ \t\r\n]*(?:
      (?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)
    | (?P<word>[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)
    | (?P<text>"[^"]*"|'[^']*')
    | (?P<sign><=|>=|==|!=|[-+*/<>()\[\],])
    | (?P<end>\Z)
    )""",
    re.VERBOSE,
)
_HINTS: Final = {
    "=": "write == to compare",
    "&": "write and",
    "|": "write or",
    "!": "write not, or !=",
    '"': "the quotes are not closed",
    "'": "the quotes are not closed",
}


class Token(NamedTuple):
    """A piece of an expression's text: its kind, the text itself, and its 1-based column."""

    kind: Literal["number", "word", "text", "sign", "end"]
    text: str
    column: int

    @property
    def shown(self) -> str:
        return "the end" if self.kind == "end" else ascii(self.text)


def tokens(text: str) -> list[Token]:
    """Return the tokens of an expression; the last one is its end.

    Raises:
        ExpressionError: a character that has no place in an expression, quotes that are not closed, a number that is
            too large or runs into a word, or a text with a character that cannot be seen.
    """
    found: list[Token] = []
    place = 0
    while not found or found[-1].kind != "end":
        match = _TOKEN.match(text, place)
        if match is None:
            raise _unexpected(text, place)
        kind = match.lastgroup or ""
        token = Token(kind, match[kind], match.start(kind) + 1)  # type: ignore[arg-type]  # the names of the groups
        if kind in {"number", "text"}:
            _check(text, token, match.end())
        found.append(token)
        place = match.end()
    return found


def _unexpected(text: str, place: int) -> ExpressionError:
    place = next(at for at in range(place, len(text)) if text[at] not in " \t\r\n")
    is_fraction = re.match(r"\.[0-9]", text[place:]) is not None
    hint = "a number begins with a digit, such as 0.5" if is_fraction else _HINTS.get(text[place])
    return ExpressionError(
        text,
        place + 1,
        f"expected a field, number, text or operator, found {text[place]!a}{f': {hint}' if hint else ''}",
    )


def _check(text: str, token: Token, end: int) -> None:
    if token.kind == "text":
        for offset, character in enumerate(token.text):
            if not character.isprintable() or character == "\\":
                raise ExpressionError(
                    text, token.column + offset, f"a text has visible characters and no backslash, found {character!a}"
                )
    elif isinf(float(token.text)):
        raise ExpressionError(text, token.column, "expected a number up to 1.79e308, found a larger one")
    elif re.match(r"[\w.]", text[end : end + 1]):
        raise ExpressionError(
            text, end + 1, f"expected an operator after the number {token.text[:30]}, found {text[end]!a}"
        )
