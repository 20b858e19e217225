"""A YAML text as plain values, each with its line.

Only the part of YAML that a configuration needs is read. Numbers, booleans and null are written as in YAML 1.2: the
older rules turn `no` into false, `0042` into 34 and `12:30` into 750, and leave `1e3` a text, all without a message.
Tags and aliases are refused: no setting needs them, and with aliases a small file can mean an endless value. Long texts
and deep nesting are refused too: the time of the library grows with the square of the depth, 12 s for 4 KB of `[`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
import yaml

from prism.checked import record_of
from prism.errors import ConfigError, SettingError
from prism.expectations import found, join

R = TypeVar("R")
T = TypeVar("T", bound=msgspec.Struct)

DEPTH_MAX = 32
"""The most collections inside one another that have a bracket or an indent of their own; settings need 4."""
_INDEX = re.compile(r"\[(\d+)\]")
LENGTH_MAX = 64 * 1024
"""The most characters of a text. All settings with their comments take 29,000; for this many the library takes up to
1 s."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """The value of one key, and its place.

    Args:
        value: the value, or a dict of entries if it is a mapping.
        source: what errors call the text.
        line: the 1-based line of the key; 0 without one.
    """

    value: Any
    source: str = ""
    line: int = 0

    def at(self, key: str) -> Entry:
        """Return the innermost part of this value that a key such as `[1].measure` or `feed.size` names.

        Keys may have dots of their own.
        """
        key = key.removeprefix(".")
        index = _INDEX.match(key)
        if isinstance(self.value, list) and index is not None and int(index[1]) < len(self.value):
            item = self.value[int(index[1])]
            first = next(iter(item.values()), None) if isinstance(item, dict) else None
            line = first.line if isinstance(first, Entry) else self.line
            return Entry(value=item, source=self.source, line=line).at(key[index.end() :])
        names = [name for name in self.value if name and isinstance(name, str)] if isinstance(self.value, dict) else []
        fitting = [name for name in names if (key == name or key.startswith((f"{name}.", f"{name}[")))]
        name = max(fitting, key=len, default="")
        return self.value[name].at(key[len(name) :]) if name else self

    def refused(self, problem: str, key: str, path: str = "") -> ConfigError:
        """Return the error of a key, with the place of the innermost part of it; `path` is that of this value."""
        place = self.at(key.removeprefix(path))
        return ConfigError(place.source, problem, key=key or None, line=place.line or None)


class _Loader(yaml.SafeLoader):
    """A safe loader that reads words and numbers as YAML 1.2 does, and refuses references and deep nesting.

    Args:
        text: the YAML text.
        source: what errors call it.
    """

    def __init__(self, text: str, source: str) -> None:
        super().__init__(text)
        self._source = source

    def fetch_more_tokens(self) -> None:
        """Scan one more token, and refuse it if it opens too many collections.

        Before `compose_node` sees a bracket, the scanner reads on to find out whether a key begins there, and its time
        for each token grows with the depth.
        """
        super().fetch_more_tokens()
        if self.flow_level + len(self.indents) > DEPTH_MAX:
            problem = f"is nested more than {DEPTH_MAX} levels deep; no setting needs more than 4"
            raise self._refusal(problem, self.tokens[-1].start_mark)

    def fetch_key(self) -> None:
        """Refuse a `?` of a text within brackets, which PyYAML takes for the mark of a key, unless it can be one."""
        before = self.buffer[max(0, self.pointer - DEPTH_MAX) : self.pointer].rstrip()[-1:]
        if self.flow_level and not (before in tuple("[{,") and self.peek(1).isspace()):
            raise self._refusal("a ? outside of quotes: put the text in quotes", self.get_mark())
        super().fetch_key()

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Return a node with everything inside it."""
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent):
            raise self._refusal(f"*{event.anchor}: YAML aliases are not supported", event.start_mark)
        tag = getattr(event, "tag", None)
        if tag is not None:
            shown = tag.replace("tag:yaml.org,2002:", "!!")
            raise self._refusal(f"{shown}: YAML tags are not supported", event.start_mark)
        return super().compose_node(parent, index)

    def _refusal(self, problem: str, mark: Any) -> ConfigError:
        return ConfigError(self._source, problem, line=_line(mark))


_Loader.yaml_implicit_resolvers = {}
# PyYAML finds the patterns to try by the first character of a text; the empty string stands for an empty text.
for _tag, _first, _pattern in (
    ("bool", [*"tTfF"], re.compile(r"(true|True|TRUE|false|False|FALSE)\Z")),
    ("null", [*"~nN", ""], re.compile(r"(~|null|Null|NULL|)\Z")),
    ("int", [*"-+0123456789"], re.compile(r"[-+]?(0|[1-9][0-9_]*)\Z")),
    ("float", [*"-+.0123456789"], re.compile(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))([eE][-+]?[0-9]+)?\Z")),
    ("float", [*"-+."], re.compile(r"([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))\Z")),
    ("timestamp", [*"0123456789"], yaml.SafeLoader.timestamp_regexp),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", _pattern, _first)


def read_document(text: str, source: str, *, length_max: int = LENGTH_MAX) -> dict[str, Entry]:
    """Return the sections of a YAML text by name; none if it is empty."""
    top = _read(text, source, length_max)
    if top is None or top.value is None:
        return {}
    if not isinstance(top.value, dict):
        raise ConfigError(source, f"expected sections at the top, got {found(top.value)}", line=top.line)
    return top.value


def read_as(text: str, source: str, kind: type[T], checked: Callable[[T], R]) -> tuple[R, Entry]:
    """Return the value of the record that a YAML text describes, and the text with its lines."""
    top = Entry(value=read_document(text, source), source=source)
    try:
        return checked(record_of(kind, without_lines(top.value))), top
    except SettingError as error:
        raise top.refused(error.problem, error.keys[0]) from None


def read_list(text: str, source: str, key: str) -> Entry:
    """Return the list in a YAML text: the whole text, or the value of its only key."""
    top = _read(text, source, LENGTH_MAX)
    if top is not None and isinstance(top.value, list):
        return top
    if top is not None and isinstance(top.value, dict) and [*top.value] == [key]:
        only: Entry = top.value[key]
        return only
    problem = f"expected a list, or a mapping with the key {key} alone"
    if top is None:
        raise ConfigError(source, f"{problem}, got nothing")
    got = found(top.value) if not isinstance(top.value, dict) else f"the keys {', '.join(top.value) or 'none'}"
    raise ConfigError(source, f"{problem}, got {got}", line=top.line)


def read_value(text: str, source: str, key: str) -> object:
    """Return the value of a single text, from an environment variable or `--set`; none if it is empty."""
    try:
        top = _read(text, source, LENGTH_MAX)
    except ConfigError as error:
        # The value is one word on a command line: a line number would count lines that nobody sees.
        raise ConfigError(source, error.problem, key=key) from error
    return None if top is None else without_lines(top.value)


def without_lines(value: Any) -> Any:
    """Return a value with its entries replaced by their values."""
    if isinstance(value, dict):
        return {key: without_lines(entry.value) for key, entry in value.items()}
    return [without_lines(item) for item in value] if isinstance(value, list) else value


def with_places(value: Any, source: str) -> Any:
    """Return a plain value with the values of its keys replaced by entries without a line."""
    if isinstance(value, Mapping):
        return {key: Entry(value=with_places(value[key], source), source=source) for key in value}
    return [with_places(item, source) for item in value] if isinstance(value, list | tuple) else value


def _read(text: str, source: str, length_max: int) -> Entry | None:
    """Return the whole text as one entry."""
    if len(text) > length_max:
        raise ConfigError(source, f"is longer than the {length_max:,} characters that a configuration may have")
    try:
        loader = _Loader(text, source)
        if (node := loader.get_single_node()) is None:
            return None
        return Entry(value=_value(loader, node, source, ""), source=source, line=_line(node.start_mark))
    except yaml.MarkedYAMLError as error:
        problem, line = _told(error, text.split("\n"))
        raise ConfigError(source, f"not valid YAML: {problem}", line=line) from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        problem = f"not valid YAML: the character {chr(error.character)!a} is not allowed"
        raise ConfigError(source, problem, line=line) from error


def _told(error: yaml.MarkedYAMLError, lines: Sequence[str]) -> tuple[str, int | None]:
    """Return the problem with a text that is not YAML in everyday words, and the line to change."""
    at, context = error.problem_mark, error.context_mark
    told = " ".join(", ".join(part for part in (error.context, error.problem) if part).split())
    if at is None:
        return told, None
    # What is not closed is found at the end of the text, below the line to change.
    last = max((place for place, each in enumerate(lines, 1) if each.strip()), default=1)
    number, line = _line(at), lines[at.line] if at.line < len(lines) else ""
    before, mark = line[: at.column], line[at.column : at.column + 1]
    indent, fitting = len(line) - len(line.lstrip(" ")), _indents(lines[: at.line])
    if "quoted scalar" in told and "end of stream" in told and context is not None:
        return "a quote is not closed", min(last, _line(context))
    if "\t" in line[: len(line) - len(line.lstrip())]:
        return "expected an indent of spaces, got a tab", number
    if "could not find expected ':'" in told and context is not None:
        return "expected a key with a colon and a space behind it", _line(context)
    if "cannot start any token" in told:
        told = "a tab outside of quotes" if mark == "\t" else f"a text that begins with {mark}: put the text in quotes"
    elif "flow" in told and context is not None and (context.line < at.line or not mark):
        return "a bracket is not closed", min(last, _line(context))
    elif "flow" in told and mark in (":", "-"):
        told = f"a {mark} outside of quotes: put the text in quotes"
    elif "flow" in told and mark in ("]", "}"):
        told = f"expected {'}' if mark == ']' else ']'} before {mark}"
    elif mark in ("]", "}"):
        told = f"a {mark} without a bracket that opens"
    elif "sequence entries" in told:
        told = "a - outside of quotes: put the text in quotes, or write a list below its key"
    elif "mapping values" in told and re.match(r" *[^\s:]+$", before) and indent in fitting:
        return "expected a key with a colon and a space behind it", number - 1
    elif "single document" not in told and ("mapping values" in told or not before.strip()) and ": " not in before:
        listed = " or ".join(map(str, sorted(fitting)))
        told = f"expected an indent of {listed} spaces, as above, got {indent}"
    elif "mapping values" in told or "<block end>" in told:
        told = "a text that has a colon in it, or quotes in a part of it: put all of the text in quotes"
    return told, number


def _indents(lines: Sequence[str]) -> set[int]:
    """Return the indents that a line below these may have: those of the keys and list items around it."""
    fitting, least = set[int](), DEPTH_MAX * LENGTH_MAX
    for line in reversed(lines):
        if (found := re.match(r"( *)(?:- +)?(?=[^\s#])", line)) is not None:
            for indent in (found.end(), len(found[1])):
                if indent < least:
                    fitting.add(indent)
                    least = indent
    return fitting or {0}


def _value(loader: _Loader, node: yaml.Node, source: str, path: str) -> object:
    if isinstance(node, yaml.SequenceNode):
        return [_value(loader, item, source, path) for item in node.value]
    if not isinstance(node, yaml.MappingNode):
        try:
            value: object = loader.construct_object(node)
        except ValueError as error:
            # A date like 2026-02-30, or an int of more digits than Python reads.
            problem = f"expected a valid {node.tag.rpartition(':')[2]}, got {found(node.value)}"
            raise ConfigError(source, problem, key=path or None, line=_line(node.start_mark)) from error
        return value
    entries: dict[str, Entry] = {}
    for key_node, value_node in node.value:
        line = _line(key_node.start_mark)
        key = without_lines(_value(loader, key_node, source, path))
        if not isinstance(key, str):
            raise ConfigError(source, f"expected a name as key, got {found(key)}", key=path or None, line=line)
        inner = join(path, key)
        if key in entries:
            raise ConfigError(source, f"stands twice, first in line {entries[key].line}", key=inner, line=line)
        entries[key] = Entry(value=_value(loader, value_node, source, inner), source=source, line=line)
    return entries


def flat(settings: Mapping[str, Any], section: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each setting below a section by its dotted name."""
    for name, value in settings.items():
        path = join(section, name)
        if isinstance(value, dict):
            yield from flat(value, path)
        else:
            yield path, value


def _line(mark: yaml.Mark) -> int:
    return int(mark.line) + 1
