"""A search for values of fields with which some conditions hold and others do not, by the solver z3.

Each condition becomes a formula. A number is a real number and the condition under which it has a value: a comparison
with a number without one is false. A text is the place of its value among all texts that can matter: those that the
conditions name, and as many others as there are open fields to tell apart. `exp`, `log10` and `sqrt` are functions of
which z3 knows the signs alone, so it can only prove that there are no values; those that it finds are tried.

The numbers of z3 are real and those of a run are floats. So found values are tried, too: if a condition then has
another result, the search has decided nothing. Source: de Moura & Bjorner, "Z3: an efficient SMT solver" (2008).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, cast

import msgspec

from prism.expressions import tree
from prism.expressions.fields import Field
from prism.expressions.source import compiled

_SIGNS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
EFFORT_MAX: Final = 2_000_000
"""The work of one search, in z3's own units. It is no time, so that findings are the same on each machine."""


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a search.

    Args:
        values: `{field: value}` with which the conditions have the wanted results; None if no values were found.
        is_decided: False if no values were found, and it is not proved that there are none.
    """

    values: Mapping[str, Any] | None
    is_decided: bool

    @property
    def is_impossible(self) -> bool:
        """True if there are no such values."""
        return self.values is None and self.is_decided


def find(
    holds: Sequence[tree.Expression], fails: Sequence[tree.Expression] = (), *, effort: int = EFFORT_MAX
) -> Search:
    """Search for values of fields with which all of `holds` are true and all of `fails` are false.

    Args:
        effort: the limit on the work.

    Raises:
        ModuleNotFoundError: z3 is not installed.
    """
    wanted = tree.And((tree.Flag(True), *(each.root for each in holds), *(tree.Not(each.root) for each in fails)))
    formulas = _Formulas(wanted)
    names = [node.field.name for node in tree.walk(wanted) if isinstance(node, tree.Read)]
    tried = compiled(tree.Expression(text="", root=wanted, kind="bool"), {name: _from_mapping(name) for name in names})
    for values in formulas.solutions(effort):
        if tried(values, None):
            return Search(values=values, is_decided=True)
    return Search(values=None, is_decided=formulas.is_impossible)


def _from_mapping(name: str) -> Callable[[Any, Any], Any]:
    return lambda values, _: values[name]


class _Formulas:
    """A condition as a formula of z3, with a variable for each field.

    Args:
        wanted: the condition.
    """

    def __init__(self, wanted: tree.Node) -> None:
        import z3  # noqa: PLC0415  # a large library, which few commands need

        self._z3: Any = z3
        self._context = z3.Context()  # of its own, so that no other search changes what is found
        self._solver: Any = z3.Solver(ctx=self._context)
        nodes = list(tree.walk(wanted))
        self._fields = {node.field.name: node.field for node in nodes if isinstance(node, tree.Read)}
        self.is_impossible = False
        """True if there are no values; known once all solutions have been yielded."""
        self._inner: list[Any] = []
        self._texts = _texts(nodes, self._fields.values())
        self._variables = {name: self._variable(field) for name, field in self._fields.items()}
        self._solver.add(self._condition(wanted))

    def solutions(self, effort: int) -> Iterator[dict[str, Any]]:
        """Yield values of all fields: at first away from the ends of ranges, where floats and real numbers agree."""
        self._solver.set("rlimit", effort)
        for inner in (self._inner, []):
            answer = self._solver.check(*inner)
            if answer == self._z3.sat:
                model = self._solver.model()
                yield {name: self._value(field, model) for name, field in self._fields.items()}
        self.is_impossible = answer == self._z3.unsat

    def _variable(self, field: Field) -> Any:
        """Return the variable of a field; of one of kind `texts`, a truth value for each text."""
        z3, context = self._z3, self._context
        if field.kind == "bool":
            return z3.Bool(field.name, context)
        if field.kind == "texts":
            return {text: z3.Bool(f"{field.name} has {text}", context) for text in field.values or self._texts}
        if field.kind == "text":
            made = z3.Int(field.name, context)
            self._solver.add(z3.Or([made == self._texts.index(text) for text in field.values or self._texts]))
            return made
        made = z3.Int(field.name, context) if field.kind == "int" else z3.Real(field.name, context)
        low, high = map(self._real, field.bounds)
        self._solver.add(made >= low, made <= high)
        if field.kind == "float":
            self._inner += [made >= 0.9 * low + 0.1 * high, made <= 0.1 * low + 0.9 * high]
        return z3.ToReal(made) if field.kind == "int" else made

    def _value(self, field: Field, model: Any) -> Any:
        """Return the value of a field in a model."""
        variable = self._variables[field.name]
        if field.kind == "texts":
            return tuple(text for text, has in variable.items() if self._z3.is_true(model.eval(has, True)))
        found = model.eval(variable, model_completion=True)
        if field.kind == "bool":
            return self._z3.is_true(found)
        if field.kind == "text":
            return self._texts[found.as_long()]
        number = float((found if self._z3.is_rational_value(found) else found.approx(20)).as_fraction())
        return int(number) if field.kind == "int" else number

    def _real(self, value: float) -> Any:
        exact = Fraction(value)
        return self._z3.Q(exact.numerator, exact.denominator, self._context)

    def _number(self, node: tree.Node) -> tuple[Any, Any]:
        """Return a number, and the formula of when it has a value."""
        z3 = self._z3
        match node:
            case tree.Number(value):
                return self._real(value), z3.BoolVal(True, self._context)
            case tree.Negative(of):
                number, has_value = self._number(of)
                return -number, has_value
            case tree.Arithmetic(sign, left, right):
                (one, one_has), (other, other_has) = self._number(left), self._number(right)
                return _SIGNS[sign](one, other), z3.And(one_has, other_has, *([other != 0] if sign == "/" else []))
            case tree.Choose(condition, yes, no):
                holds, (one, one_has), (other, other_has) = self._condition(condition), *map(self._number, (yes, no))
                return z3.If(holds, one, other), z3.If(holds, one_has, other_has)
            case tree.Call(name, arguments):
                return self._call(name, [self._number(argument) for argument in arguments])
        return self._variables[cast("tree.Read", node).field.name], z3.BoolVal(True, self._context)

    def _call(self, name: str, arguments: Sequence[tuple[Any, Any]]) -> tuple[Any, Any]:
        z3 = self._z3
        made, has_value = arguments[0][0], z3.And([has for _, has in arguments])
        if name in {"min", "max"}:
            for number, _ in arguments[1:]:
                made = z3.If(number < made if name == "min" else number > made, number, made)
            return made, has_value
        if name == "abs":
            return z3.If(made < 0, -made, made), has_value
        real = z3.RealSort(self._context)
        result = z3.Function(name, real, real)(made)
        if name == "sqrt":
            self._solver.add(z3.Implies(made >= 0, z3.And(result >= 0, result * result == made)))
            return result, z3.And(has_value, made >= 0)
        if name == "exp":
            self._solver.add(result >= 0)
            return result, has_value
        return result, z3.And(has_value, made > 0)  # log10

    def _condition(self, node: tree.Node) -> Any:
        z3 = self._z3
        match node:
            case tree.Flag(value):
                return z3.BoolVal(value, self._context)
            case tree.Not(of):
                return z3.Not(self._condition(of))
            case tree.And(parts) | tree.Or(parts):
                made = [self._condition(part) for part in parts]
                return z3.And(made) if isinstance(node, tree.And) else z3.Or(made)
            case tree.Comparison():
                return z3.And([self._compared(*pair) for pair in node.pairs])
            case tree.Member(item, among, is_negated):
                texts: Mapping[str, Any]
                if isinstance(among, tree.Read):
                    texts = self._variables[among.field.name]
                else:
                    texts = dict.fromkeys(among, z3.BoolVal(True, self._context))
                text = self._text(item)
                found = z3.Or([z3.And(text == self._texts.index(each), has) for each, has in texts.items()])
                return z3.Not(found) if is_negated else found
        return self._variables[cast("tree.Read", node).field.name]

    def _compared(self, left: tree.Node, sign: str, right: tree.Node) -> Any:
        kind = _kind(left)
        if kind == "number":
            (one, one_has), (other, other_has) = self._number(left), self._number(right)
            return self._z3.And(one_has, other_has, _SIGNS[sign](one, other))
        read = self._text if kind == "text" else self._condition
        return _SIGNS[sign](read(left), read(right))

    def _text(self, node: tree.Node) -> Any:
        if isinstance(node, tree.Text):
            return self._z3.IntVal(self._texts.index(node.value), self._context)
        return self._variables[cast("tree.Read", node).field.name]


def _texts(nodes: Sequence[tree.Node], fields: Collection[Field]) -> list[str]:
    """Return all texts that can matter: those that are named, and others."""
    named = [node.value for node in nodes if isinstance(node, tree.Text)]
    named += [
        text for node in nodes if isinstance(node, tree.Member) and isinstance(node.among, tuple) for text in node.among
    ]
    open_fields = sum(field.kind in {"text", "texts"} and not field.values for field in fields)
    others = [f"another text{f' {number}' if number else ''}" for number in range(open_fields + len(named))]
    fresh = [text for text in others if text not in named][:open_fields]
    return list(dict.fromkeys([*named, *fresh, *(text for field in fields for text in field.values)]))


def _kind(node: tree.Node) -> str:
    if isinstance(node, tree.Read):
        return "number" if node.field.is_number else node.field.kind
    if isinstance(node, tree.Text):
        return "text"
    return (
        "bool"
        if isinstance(node, tree.Flag | tree.Comparison | tree.Member | tree.Not | tree.And | tree.Or)
        else "number"
    )
