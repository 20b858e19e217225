"""The base class of every group of settings: its checks and its errors, and the settings of a user's own domain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeGuard, TypeVar, cast, dataclass_transform, get_args

import msgspec
from msgspec import Meta

from prism.checked import Checked, field_types
from prism.errors import SettingError
from prism.expectations import expectation, found, join

T = TypeVar("T")
Text = Annotated[str, Meta(min_length=1)]


class _Declared(NamedTuple):
    default: Any
    meaning: str
    bounds: dict[str, Any]

    def of_type(self, kind: Any) -> Any:
        """Return an annotation with the bounds, which are those of the value if it may be None, and the meaning."""
        if self.bounds:
            bare = kind.removesuffix(" | None") if isinstance(kind, str) else next(iter(get_args(kind)), kind)
            bounded: Any = Annotated[bare, Meta(**self.bounds)]
            kind = bounded if bare == kind else bounded | None
        return Annotated[kind, Meta(description=self.meaning)]


def setting(default: T, meaning: str, **bounds: Any) -> T:
    """Declare a setting by its default, its meaning and its bounds.

    The check, its error, the page of settings and the schema for editors all come from it:
    `size: int = setting(10, "most posts shown in one session", ge=1, le=1000)`.

    Args:
        bounds: as `msgspec.Meta` has them: ge, gt, le, lt, min_length, max_length, tz.
    """
    return cast(T, _Declared(default, meaning, bounds))


class SectionType(msgspec.StructMeta):
    """The class of every section class. It takes declarations by `setting`, and refuses unknown keys by name."""

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> SectionType:
        """Return a section class, whose values cannot be replaced."""
        for key, value in [*namespace.items()]:
            if isinstance(value, _Declared):
                namespace["__annotations__"][key] = value.of_type(namespace["__annotations__"][key])
                is_mapping = isinstance(value.default, dict)
                namespace[key] = msgspec.field(default_factory=value.default.copy) if is_mapping else value.default
        return super().__new__(cls, name, bases, namespace, **{"frozen": True, "kw_only": True, **options})

    if not TYPE_CHECKING:  # or type checkers and editors would not see which keys there are

        def __call__(cls, *arguments: object, **settings: object) -> object:  # of a class of classes
            """Construct a section."""
            if arguments:
                raise TypeError(f"{cls.__name__}: takes each setting by its name: {keys_of(cls)}")
            for name in settings:
                if name not in cls.__struct_fields__:
                    raise cls.refused(name, unknown_key(sections_of(root_of(cls)), place_of(cls), name))
            return super().__call__(**settings)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(msgspec.field,))
class Section(Checked, frozen=True, kw_only=True, forbid_unknown_fields=True, metaclass=SectionType):
    """A group of settings. A value that it cannot hold, and a key that it does not have, is an error.

    A mapping in place of an inner section becomes one: `Config(population={"size": 100})`.

    Raises:
        SettingError: the first thing that is wrong, with its dotted path; a ConfigError and a ValueError.
    """

    @classmethod
    def taken(cls, name: str, value: object) -> Any:
        """Return the value of one setting, or of an inner section, as this section holds it.

        Raises:
            SettingError: it cannot be held.
        """
        kind = field_types(cls)[name]
        if not is_section(kind):
            held = super().taken(name, value)
            cls._refuse_misfits(name, held)
            return held
        if isinstance(value, kind):
            return value
        if isinstance(value, Mapping):
            return kind(**{str(key): setting for key, setting in value.items()})
        raise cls.refused(name, no_section(kind, value))

    def __post_init__(self) -> None:
        super().__post_init__()
        if type(self).misfits is not Section.misfits:
            for name in self.__struct_fields__:
                self._refuse_misfits(name, getattr(self, name))

    @classmethod
    def misfits(cls, name: str, value: Any) -> Iterator[tuple[str, str]]:  # noqa: ARG003  # most sections have none
        """Yield what is wrong with a value that its type holds: the place, as `refused` takes it, and the problem."""
        yield from ()

    @classmethod
    def _refuse_misfits(cls, name: str, value: object) -> None:
        for place, problem in cls.misfits(name, value):
            raise cls.refused(place, problem)

    @classmethod
    def refused(cls, place: str, problem: str) -> SettingError:
        """Return the error for a setting that cannot be as it was given.

        Args:
            place: the setting's name, or the part of its value that is wrong, such as `topics[3]`.
        """
        return SettingError(cls.__name__, problem, keys=(join(place_of(cls), place),))


def is_section(kind: object) -> TypeGuard[type[Section]]:
    """Return whether a type is that of a section."""
    return isinstance(kind, SectionType)


def keys_of(section: type[Section]) -> str:
    """Return the keys of a section as an error lists them: its settings, then the sections in it."""
    return ", ".join(field_types(section))


def meaning_of(kind: Any) -> str:
    """Return what a setting of this type means; empty if its declaration does not say."""
    notes = getattr(kind, "__metadata__", ())  # a user's own domain may have others than ours
    return next((each.description for each in notes if isinstance(each, Meta) and each.description), "")


def no_section(section: type[Section], value: object) -> str:
    """Return the message about a value in the place of a section."""
    if isinstance(value, str) and value.partition(":")[0] in field_types(section):
        return f"expected a key with a colon and a space behind it, got {found(value)}"
    return f"expected a section with keys ({keys_of(section)}), got {found(value)}"


@cache
def sections_of(root: type[Section]) -> Mapping[str, type[Section]]:
    """Return every section in a section by its dotted path; the root itself is the empty one."""
    found = {"": root}
    for name, kind in field_types(root).items():
        found |= {
            join(name, path) if path else name: inner
            for path, inner in (sections_of(kind) if is_section(kind) else {}).items()
        }
    return found


def place_of(section: type[Section]) -> str:
    """Return the dotted path of a section in a configuration; empty for the whole configuration."""
    return next(path for path, kind in sections_of(root_of(section)).items() if kind is section)


def root_of(section: type[Section]) -> type[Section]:
    """Return the outermost section around a section, or the section itself if it is in no other."""
    outer = (kind for kind in Section.__subclasses__() if section in field_types(kind).values())
    return next(map(root_of, outer), section)


def unknown_key(kinds: Mapping[str, type[Section]], section: str, name: str) -> str:
    """Return the message about a key that a section does not have."""
    outer, _, last = join(section, name).rpartition(".")
    if "." in name and last in field_types(kinds.get(outer, Section)):
        return f"unknown key; a key stands below its section: {name.replace('.', ': {')}: ...{'}' * name.count('.')}"
    near = {key: join(section, key) for key in field_types(kinds[section])}
    if "." not in name:  # `sharing_audit` for `sharing.audit`
        near |= {
            f"{inner}_{key}": join(path, key)
            for inner, path in near.items()
            for key in field_types(kinds.get(path, Section))
        }
    close = [near[guess] for guess in get_close_matches(name, near, n=1)]
    # `graph.file` for `graph.path`, whose meaning begins with the word: "file of ties".
    meant = [key for key, kind in field_types(kinds[section]).items() if meaning_of(kind).startswith(f"{name} ")]
    elsewhere = [join(path, name) for path, kind in kinds.items() if name in field_types(kind)]
    guesses = [join(section, key) for key in meant if not close] or elsewhere or close
    if guesses:
        return f"unknown key; did you mean {' or '.join(guesses)}?"
    return f"unknown key; {section or 'the top'} has: {keys_of(kinds[section])}"


DOMAIN = "domain"
"""The key of these settings in a configuration."""

S = TypeVar("S", bound=Section)


class NoSettings(Section):
    """The settings of a domain without settings."""


def settings_from(kind: type[S], values: Mapping[str, object]) -> S:
    """Return the settings of a domain as its own type holds them."""
    for place, problem in _missing(kind, values):
        raise SettingError(kind.__name__, problem, keys=(join(DOMAIN, place),))
    try:
        return kind(**values)
    except SettingError as error:
        raise placed_below(error) from None
    except ValueError as error:  # of a check that the domain makes itself
        raise SettingError(
            kind.__name__, " ".join(str(error).split()) or type(error).__name__, keys=(DOMAIN,)
        ) from error


def placed_below(error: SettingError) -> SettingError:
    """Return an error of a domain's settings with their places in the whole configuration."""
    return SettingError(error.source, error.problem, keys=[join(DOMAIN, key) for key in error.keys])


def plain_settings(settings: object) -> Any:
    """Return settings as plain values, as a file would give them."""

    def refused(value: object) -> Any:
        raise TypeError(f"expected a value that YAML has, got {type(value).__name__}")

    return msgspec.to_builtins(settings, enc_hook=refused)


def places_of(values: Mapping[str, object], path: str = DOMAIN) -> Iterator[str]:
    """Yield the dotted path of every setting below `domain`, and of every mapping in one."""
    for name, value in values.items():
        yield join(path, name)
        if isinstance(value, Mapping):
            yield from places_of(value, join(path, name))


def _missing(kind: type[Section], values: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield the place and the problem of each setting that has no default and no value."""
    for field in msgspec.structs.fields(kind):
        if field.required and field.name not in values:
            yield field.name, f"is not set, and has no default: expected {expectation(field.type)}"
    for name, inner in field_types(kind).items():
        if is_section(inner) and isinstance(value := values.get(name), Mapping):
            yield from ((join(name, place), problem) for place, problem in _missing(inner, value))
