"""The prompt of a choice: a template of the user, filled with who a person is, what they see and what they may do.

A template is text with placeholders in braces. A line `---` ends what is said to all (the system message); the rest is
said about one person (the user message). A line whose placeholders are all empty is left out, and so is a heading right
above it, which ends in a colon. Nothing in a template is run, and what is filled in is never read again: texts of
people stand in double quotes, each on one line.

To ask a recorded question again, with another wording, order or persona format:

    oracle, agent = domain.oracle(model), domain.asker(question)
    options = [type(agent.state)(option) for option in question.options]
    prompt = oracle.prompt(agent, agent.state, question.trigger, options, question.context)  # as in the run
    other = msgspec.structs.replace(prompt, template=template_of("list"), order=(2, 0, 1, 3), persona="prose")
    found = await oracle.judgement(other, samples)  # the model's probabilities, or the shares of so many answers
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from enum import StrEnum
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from string import ascii_uppercase
from typing import Any, Final, Literal

import msgspec

from prism.errors import ConfigError
from prism.expectations import guess
from prism.llm.port import Message
from prism.quoting import quoted
from prism.rng import Draw, integer
from prism.statechart.oracle import facts_of, fields_of, in_one_line, plain_value

KEY: Final = "prompt"
PATH: Final = f"llm.{KEY}"
SHIPPED: Final = ("prose", "list")
CHOICE: Final = "choice"
"""The key under which a model names an option."""
BY_NAME: Final = f'Answer with JSON only, and name one of these in the same words:\n{{"{CHOICE}": "<one of these>"}}'
BY_LETTER: Final = "Answer with the letter of one of these and with nothing else."
DIVIDER: Final = "---"

Persona = Literal["prose", "list"]
Words = StrEnum
"""The words for the options of one choice: the name of a member is a state's value, and its value the words."""

PLACEHOLDERS: Final[Mapping[str, str]] = {
    "person": "who the person is, in sentences: name, interests, personality, attributes",
    "person_list": "the same, a line for each",
    "name": "the person's name",
    "interests": "their interests",
    "personality": "their personality",
    "attributes.NAME": "one of their own attributes",
    "memory": "what they remember, a line for each thing, if `llm.memory` is set",
    "seen": "what they see, in sentences",
    "seen_list": "the same, a line for each",
    "seen.NAME": "one part of it: of a post `author`, `text`, `topics`, `written`, `likes`, `replies`, `reshares`",
    "options": "what they may do, a line for each",
    "answer": "the form of the answer",
    "state": "the chart's name of their state",
    "trigger": "the chart's name of what happened",
    "tick": "the tick",
}
"""`{placeholder: its meaning}`. `NAME` stands for a name of the user's."""
PERSONAS: Final = frozenset({"person", "person_list"})
NEEDED: Final = ("options", "answer")
_PART: Final = re.compile(r"\{\{|\}\}|\{ *([A-Za-z_][\w.]*) *\}")


class Template(msgspec.Struct, frozen=True):
    """A template: the text as the user wrote it, and its name for messages."""

    text: str
    source: str = PATH

    @property
    def sha256(self) -> str:
        return sha256(self.text.encode()).hexdigest()

    @property
    def placeholders(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(_names(self.text)))

    def check(
        self,
        attributes: Collection[str] | None = None,
        *,
        known: Collection[str] = tuple(PLACEHOLDERS),
        needed: Collection[str] = NEEDED,
    ) -> None:
        """Refuse a template that cannot be filled.

        Args:
            attributes: the names of people's own attributes; None if they are not known.
            known: its possible placeholders; needed: those that it has to have.

        Raises:
            ConfigError: it is empty, lacks a placeholder that is needed, or has an unknown one.
        """
        if not self.text.strip():
            expected = " and ".join(f"{{{name}}}" for name in needed)
            raise ConfigError(self.source, f"the template is empty; expected text with {expected}")
        for number, line in enumerate(self.text.split("\n"), 1):
            for name in _names(line):
                if (problem := _problem(name, attributes, known)) is not None:
                    raise ConfigError(self.source, problem, line=number)
        for name in needed:
            if name not in self.placeholders:
                raise ConfigError(self.source, f"the template has no {{{name}}}, {PLACEHOLDERS[name]}")

    def fill(self, value: Callable[[str], str]) -> tuple[Message, ...]:
        """Return the messages, filled with what `value` returns for placeholders: the system message first, if any."""
        rules, divider, rest = f"\n{self.text}".partition(f"\n{DIVIDER}\n")
        parts = (("system", rules), ("user", rest)) if divider else (("user", rules),)
        filled = [(role, _filled(part, value)) for role, part in parts]
        if not filled[-1][1]:  # a chat ends with a user's message
            filled = [("user", filled[0][1])]
        return tuple(Message(role=role, content=text) for role, text in filled if text)  # type: ignore[arg-type]


def _names(line: str) -> Iterator[str]:
    return (found[1] for found in _PART.finditer(line) if found[1])


def _problem(name: str, attributes: Collection[str] | None, known: Collection[str]) -> str | None:
    head, _, rest = name.partition(".")
    if rest and f"{head}.NAME" in known:
        if head == "attributes" and attributes is not None and rest not in attributes:
            told = guess(rest, sorted(attributes)) if attributes else "people have none; see population.attributes"
            return f"{{{name}}}: no such attribute; {told}"
        return None
    plain = [each for each in known if not each.endswith(".NAME")]
    return None if name in plain else f"{{{name}}}: no such placeholder; {guess(name, plain)}"


def _filled(part: str, value: Callable[[str], str]) -> str:
    """Return a part of a template with its placeholders filled, without empty lines around it or two in a row."""
    lines, is_heading = list[str](), False
    for line in part.strip("\n").split("\n"):
        texts = {name: value(name) for name in _names(line)}
        if texts and not any(texts.values()):
            if is_heading:
                lines.pop()
            is_heading = False
            continue
        text = _PART.sub(lambda found, texts=texts: texts[found[1]] if found[1] else found[0][0], line)  # type: ignore[misc]
        if text.strip() or (lines and lines[-1]):
            lines.append(text.rstrip())
            is_heading = not texts and lines[-1].endswith(":")
    while lines and not lines[-1]:
        lines.pop()
    return "\n".join(lines)


def template_file(name: str) -> Traversable:
    return files("prism.llm").joinpath("prompts", f"{name}.txt")


_SHIPPED: Final = {name: Template(template_file(name).read_text(encoding="utf-8"), name) for name in SHIPPED}
"""The templates that come with PRISM, by name. They are read once, before there is an event loop that waits for it."""


def template_of(prompt: str) -> Template:
    """Return the template that `llm.prompt` holds: a shipped one by its name, or one that is given as text.

    Raises:
        ConfigError: it is the name of a file, which only a run reads.
    """
    if prompt in SHIPPED:
        return _SHIPPED[prompt]
    if "\n" not in prompt:
        raise ConfigError("configuration", f"{prompt}: is a file that nobody has read", key=PATH)
    return Template(prompt)


def order_of(seed: int, agent: int, tick: int, count: int) -> tuple[int, ...]:
    """Return the order in which a question's options are shown: their numbers, drawn for this agent and tick alone.

    So it follows from the record: anybody who knows seed, agent and tick can work it out again.
    """
    order = list(range(count))
    for last in range(count - 1, 0, -1):
        at = integer(last + 1, seed, agent, tick, Draw.OPTION_ORDER, last)
        order[last], order[at] = order[at], order[last]
    return tuple(order)


@cache
def words_enum(words: tuple[tuple[str, str], ...]) -> type[StrEnum]:
    """Return the words for options as an enumeration: `((state, words), ...)`. Equal words get the state's name."""
    said = [text.casefold() for _, text in words]
    unique = ((state, text if said.count(text.casefold()) == 1 else f"{text} ({state})") for state, text in words)
    make: Callable[[str, object], type[StrEnum]] = StrEnum  # type: ignore[assignment]  # mypy takes it for a member
    return make("Words", [*unique])


class ChoicePrompt(msgspec.Struct, frozen=True):
    """A question, ready to be put to a model.

    Args:
        persona: the format of the person, in place of the template's.
        options: the words for the options, in the order of the question; the first is the fallback.
        order: the numbers of the options in the order in which they are shown.
        tick_s: simulated seconds a tick.
    """

    template: Template
    agent: Any
    state: str
    trigger: str
    context: Any
    options: tuple[Words, ...]
    order: tuple[int, ...]
    tick_s: float = 60.0
    persona: Persona | None = None

    def __post_init__(self) -> None:
        if sorted(self.order) != list(range(len(self.options))):
            raise ValueError(f"expected each number below {len(self.options)} once, got {list(self.order)}")

    @property
    def shown(self) -> tuple[Words, ...]:
        """The words for the options, in the order in which they are shown."""
        return tuple(self.options[number] for number in self.order)

    def messages(self, answer: str = BY_NAME) -> tuple[Message, ...]:
        """Return the chat in which the model names an option; `answer` is what it says about the form of the answer."""
        return self._filled("\n".join(f"- {each}" for each in self.shown), answer)

    def lettered(self) -> tuple[Message, ...]:
        """Return the chat in which the model answers with a letter: A is the first option that is shown."""
        lines = (f"{letter}. {each}" for letter, each in zip(ascii_uppercase, self.shown, strict=False))
        return self._filled("\n".join(lines), BY_LETTER)

    def without_options(self) -> tuple[str, str]:
        """Return instructions and situation, for a server that takes the options by themselves."""
        *rules, situation = (message.content for message in self._filled("", ""))
        return "\n\n".join(rules), situation

    def value(self, name: str) -> str:
        """Return the text for a placeholder that says something of the person or of what they see."""
        head, _, rest = name.partition(".")
        if head in PERSONAS and self.persona is not None:
            head = "person_list" if self.persona == "list" else "person"
        agent, context = self.agent, self.context

        def memory() -> str:
            remember = getattr(context, "prompt_memory", None)
            return "" if remember is None else "\n".join(f"- {in_one_line(line)}" for line in remember())

        def seen_list() -> str:
            return "\n".join(f"- {field}: {value}" for field, value in fields_of(context, self.tick_s).items())

        def seen() -> str:
            if rest:
                fields = fields_of(context, self.tick_s)
                return next((value for field, value in fields.items() if field.replace(" ", "_") == rest), "")
            say = getattr(context, "prompt_text", None)
            return seen_list() if say is None else str(say(self.tick_s))

        texts: dict[str, Callable[[], str]] = {
            "person": lambda: person_text(agent),
            "person_list": lambda: "\n".join(f"- {name}: {text}" for name, text in _told(agent).items() if text),
            "name": lambda: _quoted(agent, "name"),
            "personality": lambda: _quoted(agent, "personality"),
            "interests": lambda: ", ".join(_interests(agent)),
            "attributes": lambda: _said(getattr(agent, "attributes", {}).get(rest, "")),
            "memory": memory,
            "seen": seen,
            "seen_list": seen_list,
            "state": lambda: self.state,
            "trigger": lambda: self.trigger,
            "tick": lambda: str(agent.tick),
        }
        return texts[head]()

    def _filled(self, options: str, answer: str) -> tuple[Message, ...]:
        given = {"options": options, "answer": answer}
        return self.template.fill(lambda name: given[name] if name in given else self.value(name))


def person_text(agent: Any) -> str:
    """Return who a person is, in sentences. What people wrote of themselves stands in quotes."""
    name, personality, interests = _quoted(agent, "name"), _quoted(agent, "personality"), _interests(agent)
    listed = " and ".join(filter(None, [", ".join(interests[:-1]), *interests[-1:]]))
    told = [
        f"You are {name}." if name else "",
        f"You are interested in {listed}." if listed else "",
        f"Your friends would describe you as {personality}." if personality else "",
        *(f"Your {in_one_line(fact)} is {_said(value)}." for fact, value in facts_of(agent).items()),
    ]
    return " ".join(filter(None, told))


def _told(agent: Any) -> dict[str, str]:
    told = {"name": _quoted(agent, "name"), "interests": ", ".join(_interests(agent))}
    told["personality"] = _quoted(agent, "personality")
    return told | {in_one_line(fact): _said(value) for fact, value in facts_of(agent).items()}


def _interests(agent: Any) -> list[str]:
    return [quoted(each) for each in getattr(agent, "interests", ())]


def _quoted(agent: Any, name: str) -> str:
    text = getattr(agent, name, "")
    return quoted(text) if text else ""


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value == "" else plain_value(value)
