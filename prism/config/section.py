"""The base class of every group of settings, and the declaration of a setting."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeGuard, TypeVar, cast, dataclass_transform, get_args

import msgspec
from msgspec import Meta

from prism.checked import Checked, field_types
from prism.errors import SettingError
from prism.expectations import join, meant

T = TypeVar("T")
Text = Annotated[str, Meta(min_length=1)]
DOMAIN = "domain"
"""The key in a configuration of the settings of a domain of the user's own."""


class _Declared(NamedTuple):
    default: Any
    notes: tuple[Any, ...]
    bounds: dict[str, Any]


def setting(default: T, meaning: str, check: Callable[[Any], object] | None = None, **bounds: Any) -> T:
    """Declare a setting by its default, its meaning and its bounds.

    The check, its error, the page of settings and the schema for editors all come from it:
    `size: int = setting(10, "most posts shown in one session", ge=1, le=1000)`.

    Args:
        check: raises a ValueError or LookupError for a value that type and bounds allow, or yields what is wrong: the
            part, such as `[3]`, and the problem. It is not asked about None.
        bounds: as `msgspec.Meta` has them: ge, gt, le, lt, min_length, max_length, tz.
    """
    return cast(T, _Declared(default, (Meta(description=meaning), *([check] if check else [])), bounds))


class SectionType(msgspec.StructMeta):
    """The class of every section class. It takes declarations by `setting`."""

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> SectionType:
        for key, value in [*namespace.items()]:
            if isinstance(value, _Declared):
                kind = namespace["__annotations__"][key]
                if value.bounds:  # of the value, if it may be None
                    bare = kind.removesuffix(" | None") if isinstance(kind, str) else next(iter(get_args(kind)), kind)
                    bounded: Any = Annotated[bare, Meta(**value.bounds)]
                    kind = bounded if bare == kind else bounded | None
                namespace["__annotations__"][key] = Annotated[(kind, *value.notes)]
                is_mapping = isinstance(value.default, dict)
                namespace[key] = msgspec.field(default_factory=value.default.copy) if is_mapping else value.default
        return super().__new__(cls, name, bases, namespace, **{"frozen": True, "kw_only": True, **options})

    if not TYPE_CHECKING:  # for a type checker a section has the settings that it declares, and takes no others

        def __call__(cls, *arguments: object, **settings: object) -> object:
            if arguments:
                raise TypeError(f"{cls.__name__}: takes each setting by its name: {', '.join(field_types(cls))}")
            for name in settings:
                if name not in field_types(cls):
                    root, path = placed(cls)
                    raise cls.refused(join(path, name), unknown_key(sections_of(root), path, name))
            return super().__call__(**settings)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(msgspec.field,))
class Section(Checked, frozen=True, kw_only=True, forbid_unknown_fields=True, metaclass=SectionType):
    """A group of settings. A value that it cannot hold, and a key that it does not have, is an error.

    A mapping in place of an inner section becomes one: `Config(population={"size": 100})`.

    Raises:
        SettingError: the first thing that is wrong, with its dotted path; a ConfigError and a ValueError.
    """

    def __post_init__(self) -> None:
        try:
            super().__post_init__()
        except SettingError as error:  # of a value that is given in code: a file's were converted before
            key = join(placed(type(self))[1], error.keys[0])
            raise SettingError(error.source, error.problem, keys=(key,)) from None

    @classmethod
    def refused(cls, place: str, problem: str, *others: str) -> SettingError:
        """Return the error for a setting, or a part of its value; `others` contradict it, and it is to blame."""
        return SettingError(cls.__name__, problem, keys=(place, *others))


def is_section(kind: object) -> TypeGuard[type[Section]]:
    return isinstance(kind, SectionType)


def placed(section: type[Section]) -> tuple[type[Section], str]:
    """Return the outermost section around a section, and the dotted path of the section in it."""
    for outer in Section.__subclasses__():
        for name, kind in field_types(outer).items():
            if kind is section:
                root, path = placed(outer)
                return root, join(path, name)
    return section, ""


def meaning_of(kind: Any) -> str:
    """Return what a setting of this type means; empty if its declaration does not say."""
    notes = getattr(kind, "__metadata__", ())  # a user's own domain may have others than ours
    return next((each.description for each in notes if isinstance(each, Meta) and each.description), "")


@cache
def sections_of(root: type[Section]) -> Mapping[str, type[Section]]:
    """Return every section in a section by its dotted path; the root itself is the empty one."""
    found = {"": root}
    for name, kind in field_types(root).items():
        if is_section(kind):
            found |= {join(name, path) if path else name: inner for path, inner in sections_of(kind).items()}
    return found


def unknown_key(kinds: Mapping[str, type[Section]], section: str, name: str) -> str:
    """Return the message about a key that a section does not have."""
    below = {join(path, key) for path, kind in kinds.items() for key in field_types(kind)}
    if "." in name and join(section, name) in below:
        return f"unknown key; a key stands below its section: {name.replace('.', ': {')}: ...{'}' * name.count('.')}"
    # `graph.file` for `graph.path`, whose meaning begins with the word: "file of ties".
    about = [key for key, kind in field_types(kinds[section]).items() if meaning_of(kind).startswith(f"{name} ")]
    elsewhere = [join(path, name) for path, kind in kinds.items() if name in field_types(kind)]
    # `sharing_audit` is near `sharing.audit`.
    inside = {path.removeprefix(f"{section}.").replace(".", "_"): path for path in below if path.startswith(section)}
    near = meant(name, inside).removeprefix("; did you mean ").removesuffix("?")
    if guesses := [join(section, key) for key in about if not near] or elsewhere or ([inside[near]] if near else []):
        return f"unknown key; did you mean {' or '.join(guesses)}?"
    return f"unknown key; {section or 'the top'} has: {', '.join(field_types(kinds[section]))}"


class NoSettings(Section):
    """The settings of a domain without settings."""


def plain_settings(settings: object) -> Any:
    """Return settings as plain values, as a file would give them."""

    def refused(value: object) -> Any:
        raise TypeError(f"expected a value that YAML has, got {type(value).__name__}")

    return msgspec.to_builtins(settings, enc_hook=refused)
