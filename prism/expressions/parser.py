"""The parser: from a text to a typed tree, or to an error that names the column.

Each operator binds with a power (Pratt, 1973). Types are checked where an operator meets its operands, so a tree that
exists is sound. Nothing here runs a text as Python.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import isinf
from typing import Final, Literal, NamedTuple, NoReturn, get_args

from prism.errors import ExpressionError
from prism.expectations import guess
from prism.expressions import tree
from prism.expressions.tree import Field

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
    """Return the tokens of an expression, or raise an ExpressionError; the last one is its end."""
    found: list[Token] = []
    place = 0
    while not found or found[-1].kind != "end":
        match = _TOKEN.match(text, place)
        if match is None:
            place = next(at for at in range(place, len(text)) if text[at] not in " \t\r\n")
            is_fraction = re.match(r"\.[0-9]", text[place:]) is not None
            hint = "a number begins with a digit, such as 0.5" if is_fraction else _HINTS.get(text[place])
            problem = f"expected a field, number, text or operator, found {text[place]!a}"
            raise ExpressionError(text, place + 1, f"{problem}{f': {hint}' if hint else ''}")
        kind = match.lastgroup or ""
        token = Token(kind, match[kind], match.start(kind) + 1)  # type: ignore[arg-type]  # the names of the groups
        end = match.end()
        unseen = (at for at, each in enumerate(token.text) if not each.isprintable() or each == "\\")
        if kind == "text" and (offset := next(unseen, None)) is not None:
            problem = f"a text has visible characters and no backslash, found {token.text[offset]!a}"
            raise ExpressionError(text, token.column + offset, problem)
        if kind == "number" and isinf(float(token.text)):
            raise ExpressionError(text, token.column, "expected a number up to 1.79e308, found a larger one")
        if kind == "number" and re.match(r"[\w.]", text[end : end + 1]):
            problem = f"expected an operator after the number {token.text[:30]}, found {text[end]!a}"
            raise ExpressionError(text, end + 1, problem)
        found.append(token)
        place = end
    return found


LENGTH_MAX: Final = 2_000

DEPTH_MAX: Final = 50
"""Levels of a tree, and of parentheses: far from the depth at which Python gives up."""

_Kind = Literal["bool", "number", "text", "texts"]
_NAMES: Final[dict[_Kind, str]] = {"bool": "a condition", "number": "a number", "text": "a text", "texts": "texts"}
_SIGNS: Final = frozenset(get_args(tree.Ordering))
_INFIX: Final = {
    **dict.fromkeys(_SIGNS | {"in", "not"}, tree.POWERS["compare"]),
    **{sign: tree.POWERS[sign] for sign in ("or", "and", "+", "-", "*", "/")},
}


def parse(text: str, fields: Mapping[str, Field], *, kind: tree.ValueKind = "bool") -> tree.Expression:
    """Return the expression that a text means, of fields that it may read, or raise an ExpressionError.

    `text`: at most 2,000 characters, also as `str()` of the expression writes it.
    """
    if len(text) > LENGTH_MAX:
        raise ExpressionError(text, LENGTH_MAX + 1, f"expected at most {LENGTH_MAX} characters, found {len(text)}")
    parser = _Parser(text, fields)
    whole = parser.whole()
    parser.expect(whole, kind)
    expression = tree.Expression(text=text, root=whole.node, kind=kind)
    if len(str(expression)) > LENGTH_MAX:
        problem = f"expected at most {LENGTH_MAX} characters with a space at each operator"
        raise ExpressionError(text, len(text), problem)
    return expression


class _Operand(NamedTuple):
    node: tree.Node
    kind: _Kind
    column: int
    depth: int = 1


class _Parser:
    def __init__(self, text: str, fields: Mapping[str, Field]) -> None:
        self._text = text
        self._fields = fields
        self._tokens = tokens(text)
        self._place = 0
        self._nesting = 0

    def whole(self) -> _Operand:
        operand = self._expression(0)
        if self._next.kind != "end":
            self._fail(self._next, f"expected an operator or the end, found {self._next.shown}")
        return operand

    def expect(self, operand: _Operand, kind: _Kind) -> tree.Node:
        if operand.kind != kind:
            self._fail(operand, f"expected {_NAMES[kind]}, found {_NAMES[operand.kind]}")
        return operand.node

    @property
    def _next(self) -> Token:
        return self._tokens[self._place]

    def _take(self, *texts: str) -> bool:
        ahead = self._tokens[self._place : self._place + len(texts)]
        is_there = tuple(token.text for token in ahead) == texts
        self._place += len(texts) if is_there else 0
        return is_there

    def _fail(self, at: Token | _Operand, problem: str) -> NoReturn:
        raise ExpressionError(self._text, at.column, problem)

    def _expression(self, power: int) -> _Operand:
        """Return the longest operand whose operators all bind more strongly than `power`."""
        self._nesting += 1
        if self._nesting > DEPTH_MAX:
            self._fail(self._next, f"expected at most {DEPTH_MAX} levels, found more")
        left = self._value(power)
        while (binds := _INFIX.get(self._next.text, 0) if self._next.kind in {"sign", "word"} else 0) > power:
            token = self._next
            left = self._infix(left, token, binds)
            if binds == tree.POWERS["compare"] == _INFIX.get(self._next.text):
                self._fail(self._next, f"expected parentheses around what stands before {self._next.shown}")
        self._nesting -= 1
        return left

    def _value(self, power: int) -> _Operand:
        token = self._next
        self._place += 1
        if token.kind == "number":
            return _Operand(tree.Number(float(token.text)), "number", token.column)
        if token.kind == "text":
            return _Operand(tree.Text(token.text[1:-1]), "text", token.column)
        if token.text in {"true", "false"}:
            return _Operand(tree.Flag(token.text == "true"), "bool", token.column)
        if token.text == "(":
            operand = self._expression(0)
            self._close(")", token)
            return operand._replace(column=token.column)
        if token.text in {"-", "not"}:
            kind: _Kind = "number" if token.text == "-" else "bool"
            binds = tree.POWERS["sign" if token.text == "-" else "not"]
            if kind == "bool" and power > binds:
                self._fail(token, "expected parentheses around `not` and its condition")
            operand = self._expression(binds - 1)
            node = self.expect(operand, kind)
            if isinstance(node, tree.Number):
                return _Operand(tree.Number(0.0 - node.value), kind, token.column)
            return self._made(tree.Operation(token.text, (node,)), kind, operand)._replace(column=token.column)
        if token.text in tree.FUNCTIONS:
            return self._call(token)
        if token.kind != "word" or token.text in _INFIX:
            hint = ": a list stands only behind `in`" if token.text == "[" else ""
            self._fail(token, f"expected a field, number, text or (, found {token.shown}{hint}")
        if self._next.text == "(":
            self._fail(token, f"there is no function {token.text}; there are: {', '.join(sorted(tree.FUNCTIONS))}")
        field = self._fields.get(token.text)
        if field is None:
            self._fail(token, f"unknown field {token.text}; {guess(token.text, self._fields)}")
        kind = "number" if field.kind in {"float", "int"} else field.kind  # type: ignore[assignment]
        return _Operand(tree.Read(field), kind, token.column)

    def _close(self, sign: str, opened: Token) -> None:
        if not self._take(sign):
            self._fail(self._next, f"expected {sign} for column {opened.column}, found {self._next.shown}")

    def _call(self, name: Token) -> _Operand:
        opened = self._next
        if not self._take("("):
            self._fail(opened, f"expected ( after {name.text}, found {opened.shown}")
        arguments = [self._expression(0)]
        while self._take(","):
            arguments.append(self._expression(0))
        self._close(")", opened)
        takes, told = tree.FUNCTIONS[name.text]
        kinds: Sequence[tree.ValueKind] = takes or ["number"] * max(2, len(arguments))
        if len(arguments) != len(kinds):
            self._fail(name, f"{name.text} takes {told}, found {len(arguments)}")
        nodes = tuple(self.expect(argument, kind) for argument, kind in zip(arguments, kinds, strict=True))
        return self._made(tree.Operation(name.text, nodes), "number", *arguments)._replace(column=name.column)

    def _infix(self, left: _Operand, token: Token, binds: int) -> _Operand:
        if token.text in _SIGNS:
            return self._comparison(left)
        if token.text in {"in", "not"}:
            return self._member(left)
        self._place += 1
        right = self._expression(binds)
        kind: _Kind = "bool" if token.text in {"and", "or"} else "number"
        parts, sides = list[tree.Node](), list[_Operand]()
        for side in (left, right):
            node = self.expect(side, kind)
            # A chain of `and` or of `or` is one node, so it is one level.
            is_joined = kind == "bool" and isinstance(node, tree.Operation) and node.name == token.text
            parts += node.parts if is_joined else (node,)  # type: ignore[union-attr]  # an Operation
            sides.append(side._replace(depth=side.depth - is_joined))
        return self._made(tree.Operation(token.text, tuple(parts)), kind, *sides)

    def _made(self, node: tree.Node, kind: _Kind, *parts: _Operand) -> _Operand:
        depth = max(part.depth for part in parts) + 1
        if depth > DEPTH_MAX:
            self._fail(parts[-1], f"expected at most {DEPTH_MAX} levels, found more")
        return _Operand(node, kind, parts[0].column, depth)

    def _comparison(self, left: _Operand) -> _Operand:
        operands, signs = [left], []
        while self._next.kind == "sign" and self._next.text in _SIGNS:
            sign = self._next
            self._place += 1
            left, right = operands[-1], self._expression(tree.POWERS["compare"])
            operands.append(right)
            signs.append(sign.text)
            kind = _NAMES[left.kind]
            if left.kind != right.kind:
                self._fail(right, f"expected {kind} as on the left of {sign.text}, found {_NAMES[right.kind]}")
            if left.kind == "texts":
                self._fail(sign, 'texts cannot be compared; write "a text" in them')
            if left.kind != "number" and sign.text not in {"==", "!="}:
                self._fail(sign, f"expected == or !=, for {kind} has no order, found {sign.text}")
            self._check_values(left, right)
            self._check_values(right, left)
        nodes = tuple(operand.node for operand in operands)
        return self._made(tree.Comparison(nodes, tuple(signs)), "bool", *operands)  # type: ignore[arg-type]  # known signs

    def _check_values(self, operand: _Operand, other: _Operand) -> None:
        values = operand.node.field.values if isinstance(operand.node, tree.Read) else ()
        if not values:
            return
        if isinstance(other.node, tree.Text) and other.node.value not in values:
            problem = f"{operand.node.field.name} is never {other.node.value!a}"  # type: ignore[union-attr]  # a Read
            self._fail(other, f"{problem}; {guess(other.node.value, values)}")
        if isinstance(other.node, tree.Read) and other.node.field.values and not {*values} & {*other.node.field.values}:
            self._fail(other, "expected a field that shares a value with the other one, found none that they share")

    def _member(self, item: _Operand) -> _Operand:
        token = self._next
        is_negated = self._take("not", "in")
        if not is_negated and not self._take("in"):
            self._fail(
                token, "expected an operator or the end, found 'not': `not in` is one, and `not` stands in front"
            )
        self.expect(item, "text")
        opened = self._next
        if self._take("["):
            listed = dict[str, None]()
            while True:
                token = self._next
                if token.kind != "text":
                    self._fail(token, f"expected a text in quotes, found {token.shown}")
                self._check_values(item, self._value(tree.POWERS["value"]))
                listed[token.text[1:-1]] = None
                if not self._take(","):
                    break
            self._close("]", opened)
            return self._made(tree.Member(item.node, tuple(listed), is_negated), "bool", item)
        texts = self._expression(tree.POWERS["compare"])
        node = self.expect(texts, "texts")
        assert isinstance(node, tree.Read)  # noqa: S101  # nothing else has this type
        self._check_values(texts, item)
        return self._made(tree.Member(item.node, node, is_negated), "bool", item, texts)
