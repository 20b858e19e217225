"""A file of choices that people made: what each was shown, and what each did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from prism.errors import InputError
from prism.social.people.profile_rows import FORMATS, read_rows
from prism.social.posts.post import PostView
from prism.text_files import check_format, decode_text, plain_number

PERSON: Final = "person"
DID: Final = "did"
NUMBERS: Final[Mapping[str, float]] = {
    "age_ticks": 0.0,
    "likes": 0.0,
    "replies": 0.0,
    "reshares": 0.0,
    "velocity": 0.0,
    "popularity": -1.0,
    "followed": 0.0,
    "topic_match": -1.0,
    "appeal": 0.5,
    "fatigue": 0.0,
    "quality": 1.0,
    "exposures": 1.0,
}
"""`{column: the value where the file has no such column}`; -1 for one that is worked out."""
TEXTS: Final = ("trigger", "state", "author", "text", "topics")
COLUMNS: Final = (PERSON, DID, *TEXTS, *NUMBERS)
_LEAST: Final = {"exposures": 1.0, "velocity": 0.0}
_WHOLE: Final = ("age_ticks", "likes", "replies", "reshares", "exposures")
_SHARES: Final = ("popularity", "followed", "topic_match", "appeal", "fatigue")


class GivenChoice(NamedTuple):
    """A choice of a file.

    Args:
        line: in the file, or the number of the choice.
        person: the number of the person in the run.
        shown: the post; its `topic_match` or `popularity` is -1 where the file does not say.
    """

    line: int
    person: int
    trigger: str
    state: str
    options: tuple[str, ...]
    did: str
    shown: PostView


def parse_choices(
    data: bytes, source: str, people: int, kinds: Mapping[tuple[str, str], tuple[str, ...]]
) -> list[GivenChoice]:
    """Return the choices of a file, in its order: a table or JSON with `person` and `did`, and more of `COLUMNS`.

    Args:
        people: of the run; persons are numbered from 0.
        kinds: `{(state, trigger): options}` of the questions that the chart has.

    Raises:
        InputError: the file cannot be read in full; the message names the line.
    """
    check_format(source, "choices", FORMATS)
    text = decode_text(data, source)
    if not text.strip():
        raise InputError(source, "is empty: expected at least one choice")
    found = read_rows(text, source, set(COLUMNS), "choice")
    strange = [name for name in found.columns if name not in COLUMNS]
    missing = [name for name in (PERSON, DID) if name not in found.columns]
    if strange or missing:
        problem = f"missing column: {missing[0]}" if missing else f"unknown column: {strange[0]}"
        raise InputError(source, f"{problem}; expected some of {', '.join(COLUMNS)}", line=found.header_line)
    if not found.rows:
        raise InputError(source, "holds no choices: expected at least one line below the header")
    lines = found.lines or range(1, len(found.rows) + 1)
    rows = zip(found.rows, lines, strict=True)
    return [_Row(row, source, line).choice(people, kinds) for row, line in rows]


class _Row:
    """A row of the file.

    Args:
        cells: `{column: its value}`; line: for messages.
    """

    def __init__(self, cells: Mapping[str, Any], source: str, line: int) -> None:
        self._cells, self._source, self._line = cells, source, line

    def choice(self, people: int, kinds: Mapping[tuple[str, str], tuple[str, ...]]) -> GivenChoice:
        person = self._number(PERSON, None)
        if person % 1 or not 0 <= person < people:
            raise self._refused(PERSON, f"expected a person of the run, from 0 to {people - 1:,}, got {person:g}")
        did, options, (state, trigger) = self._kind(kinds)
        return GivenChoice(self._line, int(person), trigger, state, options, did, self._shown())

    def _kind(self, kinds: Mapping[tuple[str, str], tuple[str, ...]]) -> tuple[str, tuple[str, ...], tuple[str, str]]:
        did, state, trigger = (self._text(name) for name in (DID, "state", "trigger"))
        fitting = {
            kind: options
            for kind, options in kinds.items()
            if did in options and state in ("", kind[0]) and trigger in ("", kind[1])
        }
        if len(fitting) == 1:
            [(kind, options)] = fitting.items()
            return did, options, kind
        if fitting:
            listed = ", ".join(f"{name} in {place}" for place, name in fitting)
            raise self._refused("trigger", f"{did} may answer several questions: {listed}; expected trigger and state")
        listed = "; ".join(f"{name} in {place}: {', '.join(options)}" for (place, name), options in kinds.items())
        raise self._refused(DID, f"expected an option of a question ({listed}), got {did!r}")

    def _shown(self) -> PostView:
        numbers = {name: self._number(name, default) for name, default in NUMBERS.items()}
        topics = tuple(each.strip() for each in self._text("topics").split(";") if each.strip())
        whole = {name: int(numbers[name]) for name in _WHOLE}
        others = {**numbers, **whole, "followed": bool(numbers["followed"])}
        author = self._text("author") or "Somebody"
        view: PostView = PostView(
            id=0,
            author=-1,
            author_name=author,
            text=self._text("text"),
            topics=topics,
            **others,  # type: ignore[arg-type]
        )
        return view

    def _text(self, name: str) -> str:
        return str(self._cells.get(name, "")).strip()

    def _number(self, name: str, default: float | None) -> float:
        text = self._text(name)
        if not text and default is not None:
            return default
        value = {"true": 1.0, "false": 0.0}.get(text.lower()) if name == "followed" else None
        value = plain_number(text) if value is None else value
        if value is None:
            raise self._refused(name, f"expected a number, got {text[:60]!r}")
        if name in _SHARES and not 0.0 <= value <= 1.0:
            raise self._refused(name, f"expected a number from 0 to 1, got {value:g}")
        if name in _WHOLE and (value % 1 or value < 0):
            raise self._refused(name, f"expected a whole number, 0 or more, got {value:g}")
        if name == "quality" and value <= 0.0:
            raise self._refused(name, f"expected a number above 0, got {value:g}")
        if name in _LEAST and value < _LEAST[name]:
            raise self._refused(name, f"expected a number of {_LEAST[name]:g} or more, got {value:g}")
        return value

    def _refused(self, key: str, problem: str) -> InputError:
        return InputError(self._source, problem, key=key, line=self._line)
