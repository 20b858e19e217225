"""The user's own code, of a domain or of a chart's functions: found by its name, known by its hash, and imported.

A domain's function is asked for its arguments and settings, and what it returns is checked.

Code is imported only if its user has allowed it on this machine. A run's directory can say anything of itself, so the
record of that is outside of it. Code gets into the record when its user names a configuration on the command line or in
Python, or with --trust. A line has the SHA-256 under which a run keeps the code, and the name of the called object.

    ~/.local/state/prism/code, or $XDG_STATE_HOME/prism/code:
    4f0c... bar:BarDomain
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import os
import re
import stat
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from importlib.abc import MetaPathFinder
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, ModuleSpec, SourceFileLoader
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

from actors.core.errors import UntrustedCodeError
from actors.core.files import open_own, opened_as_it_is, read_descriptor, read_regular
from actors.core.messages import Codec
from actors.factory.input_files import SOURCE_BYTES_MAX, is_kept, kept_sha256, place_of
from prism.checked import converted, field_types, record_of
from prism.config import Config, Section, SimulationConfig
from prism.config.config import SHIPPED_DOMAINS
from prism.config.interventions import PLACE as INTERVENTIONS
from prism.config.section import DOMAIN, NoSettings, is_section, sections_of
from prism.domain import Domain, InputFiles, World
from prism.errors import ConfigError, PrismError, SettingError
from prism.expectations import expectation, found, meant
from prism.show import Show
from prism.statechart import Oracle, Statechart

GROUP = "prism.domains"  # the group of entry points in which an installed package offers its domains by name
KEY = "simulation.domain"
RECORD_BYTES_MAX = 1 << 24
"""The most bytes of the record of known code that are read: more than 100,000 lines."""
_REFERENCE = re.compile(r"(?P<module>[^\W\d]\w*(\.[^\W\d]\w*)*):(?P<attribute>[^\W\d]\w*(\.[^\W\d]\w*)*)")
OF_OTHERS = sys.stdlib_module_names | {"prism", "actors"}
"""Modules of Python or PRISM; a file of the same name beside the code is not meant by an import."""
imported_as: dict[str, str] = {}  # `{top-level module: SHA-256 of its code}`, as this process has imported it


def sources_below(directory: Path, root: Path) -> dict[str, bytes]:
    """Return `{name from the root: content}` of the Python and YAML files in a directory, in order of name."""
    files = sorted(path for suffix in (".py", ".yaml") for path in directory.rglob(f"*{suffix}"))
    return {path.relative_to(root).as_posix(): read_regular(path, SOURCE_BYTES_MAX) for path in files}


def sources_of(places: Iterable[Path]) -> dict[str, bytes]:
    """Return `{name: content}` of the code in files and packages; names begin with that of the file or package."""
    found: dict[str, bytes] = {}
    for place in places:
        if place.is_dir():
            found |= sources_below(place, place.parent)
        else:
            found[place.name] = read_regular(place, SOURCE_BYTES_MAX)
    return found


def sources_sha256(sources: Mapping[str, bytes]) -> str:
    """Return the SHA-256 of code, by its names and bytes."""
    digest = sha256()
    for name, source in sorted(sources.items()):
        digest.update(f"{name}\0{len(source)}\0".encode() + source)
    return digest.hexdigest()


class KnownCode:
    """The code that may be run here: keys, each a hash and the name of the called object."""

    def __init__(self) -> None:
        self.trusts = False
        """True if this process was started with --trust: the code that it runs is allowed, and known from then on."""
        self._here: set[str] = set()
        """The keys that this process has added: the record may be on a disk that cannot be written."""

    def add(self, keys: Iterable[str]) -> None:
        """Add keys, for this process and, if the record can be written, for later ones."""
        known = self.keys
        new = [key for key in dict.fromkeys(keys) if key not in known]
        self._here.update(new)
        if not new or (path := self.path()) is None:
            return
        with suppress(OSError):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = open_own(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                # One write: processes that do so at once do not mix their lines.
                os.write(descriptor, "".join(f"{key}\n" for key in new).encode())
            finally:
                os.close(descriptor)

    @staticmethod
    def path() -> Path | None:
        """Return the file of the record; None if this user has no directory for it."""
        state = Path(os.environ.get("XDG_STATE_HOME", ""))
        try:
            state = state if state.is_absolute() else Path.home() / ".local" / "state"
        except RuntimeError:
            return None
        return state / "prism" / "code"

    @property
    def keys(self) -> set[str]:
        """The keys of this process and of the record, unless others could have written that."""
        if (path := self.path()) is not None:
            with suppress(OSError), opened_as_it_is(path) as descriptor:
                found = os.fstat(descriptor)
                if stat.S_ISREG(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022:
                    text = read_descriptor(descriptor, RECORD_BYTES_MAX).decode(errors="replace")
                    return self._here.union(text.splitlines())
        return {*self._here}


known_code = KnownCode()


class OwnCode(NamedTuple):
    """Code that a configuration names as `module:attribute`: found, and not run."""

    reference: str
    # the top-level module or package, and those beside it that it imports; or all that a run has kept
    files: tuple[Path, ...]
    directory: Path | None  # where it lies; None for an installed package
    sha256: str  # over all of it, as a run keeps it
    is_on_path: bool = False  # whether Python finds it without help

    @property
    def key(self) -> str:
        """The line of the record by which it is known."""
        return f"{self.sha256} {self.reference}"

    @property
    def sources(self) -> dict[Path, str]:
        """`{file of Python: SHA-256}`."""
        sources = ((place.parent / name, each) for place in self.files for name, each in sources_of([place]).items())
        return {file: sha256(each).hexdigest() for file, each in sources if file.suffix == ".py"}


def allow(codes: Sequence[OwnCode]) -> None:
    """Allow code to be run here, now and later. Its user has asked for it."""
    own = sources_of(place for code in codes if code.directory is not None for place in code.files)
    together = sources_sha256(own)  # as a run keeps the modules of all functions of a chart
    known_code.add(f"{digest} {code.reference}" for code in codes for digest in (code.sha256, together))


def unknown_code(codes: Iterable[OwnCode]) -> list[OwnCode]:
    known = known_code.keys
    return [code for code in codes if code.key not in known]


def refuse_unknown(codes: Iterable[OwnCode]) -> None:
    """Refuse to run code that its user has not asked for; with --trust, allow it."""
    unknown = unknown_code(codes)
    if unknown and known_code.trusts:
        allow(unknown)
    elif unknown:
        raise untrusted(unknown)


def untrusted(unknown: Iterable[OwnCode]) -> UntrustedCodeError:
    files = {file: digest for code in unknown for file, digest in code.sources.items()}
    known = {key.partition(" ")[2] for key in known_code.keys}
    return UntrustedCodeError(files, is_changed=any(code.reference in known for code in unknown))


def domain_error(problem: str) -> ConfigError:
    return ConfigError("run", problem, key=KEY)


def locate_code(simulation: SimulationConfig, beside: Path | None = None) -> OwnCode:
    """Return the place and the hash of the code that a configuration names. No code is run.

    Code that a run has kept comes first, if `simulation.domain_path` names it. Otherwise Python's path does, then
    `simulation.domain_path`, then `beside`, then the working directory.

    Args:
        beside: the directory of the configuration's file; None without a file.

    Raises:
        ConfigError: there is no such module, or it cannot be read.
    """
    try:
        reference, named = _reference_of(simulation.domain), simulation.domain_path
        top = reference.partition(":")[0].partition(".")[0]
        if top == "__main__":
            raise domain_error("a domain in __main__ cannot be found again; write it to a module of its own")
        if named is not None and is_kept(named):
            kept, expected = place_of(named).resolve(), str(kept_sha256(named))
            if not kept.is_dir():
                raise domain_error(f"{kept}: no such directory; the run has kept its code there")
            sources = sources_below(kept, kept)
            others = {path.relative_to(kept).as_posix() for path in kept.rglob("*") if not path.is_dir()}
            if sources_sha256(sources) != expected or others != sources.keys():
                strange = min(others - sources.keys(), default="its SHA-256 is another")
                raise domain_error(f"{kept}: is not the code that the run has kept: {strange}")
            if (kept_files := tuple(sorted(kept.iterdir()))) and _place_in(kept, top) in kept_files:
                return OwnCode(reference, kept_files, kept, expected)
            named = None
        is_on_path = (spec := on_path(top)) is not None
        if spec is None:
            directories = [Path.cwd()] if beside is None else [beside.absolute(), Path.cwd()]
            if named is not None:  # as it is named from here, or else beside the configuration
                directories.insert(0, Path("" if beside is None or Path(named).exists() else beside, named).absolute())
            spec = next((found for each in directories if (found := _spec_in(each.resolve(), top)) is not None), None)
            if spec is None:
                looked = f"on Python's path or in {', '.join(dict.fromkeys(map(str, directories)))}"
                remedy = "install it, or name its directory in simulation.domain_path or PYTHONPATH"
                raise domain_error(f"no module {top!r} {looked}; {remedy}")
        places = paths_of(spec)
        if not places or any(path.is_file() and path.suffix != ".py" for path in places):
            problem = "has no Python source in a file, by which a resume could know it again"
            raise domain_error(f"the module {top!r} {problem}")
        is_package = is_installed(places[0].parent)
        files = tuple(places) if is_package else with_siblings(places)
        directory = None if is_package else places[0].parent
        return OwnCode(reference, files, directory, sources_sha256(sources_of(files)), is_on_path)
    except OSError as error:
        raise domain_error(f"{error.filename or 'the code'} cannot be read: {error.strerror or error}") from None


def _reference_of(name: str) -> str:
    """Return the place of a domain as `module:attribute`; the place of an installed domain is looked up."""
    if _REFERENCE.fullmatch(name):
        return name
    offered = entry_points(group=GROUP)
    points = [point for point in offered if point.name == name]
    if not points:
        known = [*SHIPPED_DOMAINS, *sorted({point.name for point in offered})]
        is_module = re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*", name)
        guess = meant(name, known) or f"; did you mean {name}:build?" * (is_module is not None)
        problem = f"expected {', '.join(known)}, or module:function for a domain of your own"
        raise domain_error(f"{problem}, got {name!r}{guess}")
    if len({point.value for point in points}) > 1:
        owners = " and ".join(sorted(point.dist.name if point.dist is not None else point.value for point in points))
        raise domain_error(f"{owners} both install a domain called {name}; name one as module:function")
    return points[0].value


def on_path(top: str) -> ModuleSpec | None:
    """Return the specification of a top-level module that Python finds without help."""
    finders = (finder.find_spec(top, None) for finder in sys.meta_path if finder is not own_finder)
    return next((spec for spec in finders if spec is not None), None)


def paths_of(spec: ModuleSpec) -> list[Path]:
    """Return the directories of a package, or the file of a module, if they exist."""
    named = [spec.origin] if spec.submodule_search_locations is None else list(spec.submodule_search_locations)
    return [Path(name).resolve() for name in named if name is not None and Path(name).exists()]


def is_installed(directory: Path) -> bool:
    return directory.name in {"site-packages", "dist-packages"} or str(directory) in sysconfig.get_paths().values()


def _place_in(directory: Path, top: str) -> Path:
    return directory / top if (directory / top).is_dir() else directory / f"{top}.py"


def with_siblings(files: Sequence[Path]) -> tuple[Path, ...]:
    """Return the files or packages, and those beside them that they import, wherever the statement stands."""
    found = dict.fromkeys(files)
    unread = [*files]
    while unread:
        place, names = unread.pop(), set[str]()
        for file, source in sources_of([place]).items():
            with suppress(SyntaxError, ValueError):
                for node in ast.walk(ast.parse(source if file.endswith(".py") else "")):
                    if isinstance(node, ast.Import):
                        names |= {each.name.partition(".")[0] for each in node.names}
                    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                        names.add(node.module.partition(".")[0])
        for name in sorted(names - OF_OTHERS):
            sibling, spec = _place_in(place.parent, name), on_path(name)
            is_meant = spec is None or sibling in paths_of(spec)  # else Python takes a module elsewhere
            if is_meant and sibling not in found and sibling.exists():
                found[sibling] = None
                unread.append(sibling)
    return tuple(found)


class _SourceLoader(SourceFileLoader):
    """Loads a module from its source, never from a compiled file beside it, which could come from other code."""

    def path_stats(self, path: Any) -> Any:
        """Refuse to give the age of the source: Python would use it to accept a compiled file."""
        raise OSError(None, "compiled files are not used", str(path))


def _spec_in(directory: Path, name: str) -> ModuleSpec | None:
    return FileFinder(str(directory), (_SourceLoader, SOURCE_SUFFIXES)).find_spec(name)


class OwnFinder(MetaPathFinder):
    """Finds the modules of allowed code that lies in no directory of Python's path, and nothing beside them.

    Otherwise a `numpy_extra.py` beside a chart would run as soon as any library looks for a package of this name.
    """

    def __init__(self) -> None:
        self.places: dict[str, Path] = {}  # `{top-level module: its file or directory}`

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: object = None) -> ModuleSpec | None:  # noqa: ARG002
        """Return the specification of a module; None if it is not of allowed code."""
        place = self.places.get(fullname.partition(".")[0])
        if place is None:
            return None
        for directory in [str(place.parent)] if path is None else path:
            if (spec := _spec_in(Path(directory), fullname)) is not None:
                return spec
        # With None Python would look for a compiled file in its place.
        raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


own_finder = OwnFinder()


def find_domain_code(simulation: SimulationConfig, beside: Path | None = None) -> tuple[OwnCode, Any]:
    """Import the module of a domain, which runs its code, and return the code and what the configuration names.

    Args:
        beside: as in `locate_code`.

    Raises:
        ConfigError: there is no such module or attribute, importing it fails, or this process has imported other code.
        UntrustedCodeError: its user has not asked for it.
    """
    code = locate_code(simulation, beside)
    refuse_unknown([code])
    for place in code.files if code.directory is not None else ():
        top = place.stem
        spec = getattr(sys.modules.get(top), "__spec__", None)
        if top not in sys.modules or (spec is not None and place in paths_of(spec)):
            continue  # an edit since its import is found when a run keeps it
        if _note_import(top) != sources_sha256(sources_of([place])):
            theirs = top if spec is None else spec.origin
            problem = f"the module {top!r} of this process is that of {theirs}, and another is in {place}"
            raise domain_error(f"{problem}; do it in a process of its own")
    if not code.is_on_path:
        own_finder.places.update({place.stem: place for place in code.files})
        if own_finder not in sys.meta_path:  # before Python's own, which could take other modules for kept ones
            sys.meta_path.insert(0, own_finder)
    module_name, _, attribute = code.reference.partition(":")
    try:
        value = importlib.import_module(module_name)
    except PrismError:
        raise
    except (Exception, SystemExit) as error:  # a user's code may raise anything
        raise domain_error(f"{module_name} cannot be imported: {raised(error)}") from error
    for place in code.files:
        _note_import(place.stem)
    for part in attribute.split("."):
        if not hasattr(value, part):
            guess = meant(part, [each for each in dir(value) if not each.startswith("__")])
            raise domain_error(f"{module_name} has no {part!r}{guess}")
        value = getattr(value, part)
    return code, value


def _note_import(top: str) -> str:
    """Return the SHA-256 of the code of a module as it was at the first call, which follows its import."""
    if top not in imported_as and top in sys.modules:
        spec = sys.modules[top].__spec__
        imported_as[top] = "" if spec is None else sources_sha256(sources_of(paths_of(spec)))
    return imported_as.get(top, "")


def is_edited(place: Path) -> bool:
    """Return whether a module or package has been edited since this process imported it."""
    return _note_import(place.stem) not in {"", sources_sha256(sources_of([place]))}


def raised(error: BaseException, files: tuple[Path, ...] = ()) -> str:
    """Return an error of the user's own code in words, with its place in that code."""
    said = " ".join(str(error).split())
    text = f"{type(error).__name__}: {said}" if said else type(error).__name__
    if isinstance(error, SyntaxError):
        return text  # it says the place itself
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith("<")]
    own = [frame for frame in frames if any(Path(frame.filename).is_relative_to(place) for place in files)] or frames
    return f"{text} ({own[-1].filename}:{own[-1].lineno})" if own else text


ARGUMENTS = ("config", "settings", "inputs")  # the arguments that a domain's function may ask for, by name

_VALUES = ("size", "chart", "checkpoint_every_ticks", "world", "context_type", "effect_type")
_METHODS = ("agent", "asker", "oracle")
_WORLD = ("triggers", "apply", "deliberates", "totals", "columns", "restore")
_WORLD_DEFAULTS = ("reactions", "measures", "highlights")


class OwnDomain(NamedTuple):
    """The function of a domain, the names of the arguments that it asks for, and the type of its settings."""

    code: OwnCode
    function: Callable[..., Any]
    arguments: tuple[str, ...]
    settings: type[Section]


def find_own_domain(simulation: SimulationConfig, beside: Path | None = None) -> OwnDomain:
    """Import the domain that a configuration names, which runs its module's code."""
    code, function = find_domain_code(simulation, beside)
    if not callable(function):
        raise domain_error(f"{code.reference} is {_named(function)}; expected a function that returns a domain")
    arguments = _arguments_of(function, code.reference)
    settings = _settings_type(function, code.reference) if "settings" in arguments else NoSettings
    return OwnDomain(code, function, arguments, settings)


def show_of_own(own: OwnDomain, config: Config) -> Show:
    """Return the show of a domain: an instance of the class `SHOW` in its module, if there is such a class."""
    module = own.code.reference.partition(":")[0]
    kind = getattr(sys.modules[module], "SHOW", Show)
    if not (isinstance(kind, type) and issubclass(kind, Show)):
        raise domain_error(f"{module}.SHOW is {_named(kind)}; expected a subclass of prism.show.Show")
    settings = record_of(own.settings, config.domain, DOMAIN)
    try:
        return kind(config, settings)
    except Exception as error:  # a user's code may raise anything
        raise domain_error(f"{module}.SHOW raised {raised(error, own.code.files)}") from error


def build_own_domain(own: OwnDomain, config: Config, inputs: InputFiles) -> Domain:
    given = {"config": config, "settings": record_of(own.settings, config.domain, DOMAIN), "inputs": inputs}
    reference, files = own.code.reference, own.code.files
    try:
        domain = own.function(**{name: given[name] for name in own.arguments})
        problem = next(_misfits(domain, asks_embedded=config.oracle.backend == "choice"), None)
    except (PrismError, MemoryError):
        raise
    except Exception as error:  # a user's code may raise anything
        raise domain_error(f"{reference} raised {raised(error, files)}") from error
    if problem is not None:
        raise domain_error(f"{reference} returned {_named(domain)}, which is no domain: {problem}")
    built: Domain = domain
    _check_interventions(own, config, built)
    show_of_own(own, config)
    return built


def _check_interventions(own: OwnDomain, config: Config, domain: Domain) -> None:
    """Refuse interventions that a domain does not take, and settings in them that it does not have."""
    if config.interventions and _missing(domain.world, ("intervene",), World) is not None:
        problem = f"the world of {own.code.reference}, {_named(domain.world)}, takes none: it has no method intervene"
        raise ConfigError("configuration", problem, key=INTERVENTIONS)
    sections = sections_of(own.settings)
    for index, each in enumerate(config.interventions):
        for path, value in (each.set or {}).items():
            section, _, name = path.removeprefix(f"{DOMAIN}.").rpartition(".")
            key = f"{INTERVENTIONS}[{index}].set.{path}"
            if section not in sections or name not in field_types(sections[section]):
                raise ConfigError("configuration", "is no setting of the domain", key=key)
            try:
                converted(field_types(sections[section])[name], value)
            except SettingError as error:
                raise ConfigError("configuration", error.problem, key=key) from None


def _arguments_of(function: Callable[..., Any], reference: str) -> tuple[str, ...]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise domain_error(f"{reference} does not say which arguments it takes; expected a function") from None
    by_name = {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}
    rest = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    known = tuple(each.name for each in parameters if each.name in ARGUMENTS and each.kind in by_name)
    for each in parameters:
        if each.name not in known and each.default is each.empty and each.kind not in rest:
            problem = f"{reference} takes an argument {each.name!r}; expected {', '.join(ARGUMENTS)}"
            raise domain_error(f"{problem}, each by its name")
    return known


def _settings_type(function: Callable[..., Any], reference: str) -> type[Section]:
    """Return the annotation of the argument `settings`, which is the type of the domain's settings."""
    try:
        kind = get_type_hints(_annotated(function)).get("settings")
    except Exception as error:  # annotations are a user's code
        raise domain_error(f"the annotations of {reference} cannot be read: {raised(error)}") from error
    if not is_section(kind):
        got = "none" if kind is None else getattr(kind, "__name__", str(kind))
        problem = "needs the class of the settings as its annotation: expected a subclass of prism.config.Section"
        raise domain_error(f"the argument settings of {reference} {problem}, got {got}")
    # Types that YAML cannot express are refused: no error could name them.
    for section in sections_of(kind).values():
        for name, of_setting in field_types(section).items():
            try:
                _ = is_section(of_setting) or expectation(of_setting)
            except TypeError:
                problem = "expected a type that YAML has: int, float, bool, str, datetime, an enum, a list or a section"
                raise domain_error(f"{section.__name__}.{name}: {problem}, got {of_setting}") from None
    return kind


def _annotated(function: Any) -> Any:
    """Return the object that holds the annotations of a callable: for a class, its constructor."""
    if isinstance(function, functools.partial):
        return _annotated(function.func)
    if inspect.isclass(function):
        return function.__init__
    return function if inspect.isroutine(function) else type(function).__call__


def _misfits(domain: Any, *, asks_embedded: bool) -> Iterator[str]:
    """Yield why an object is no domain, in words. Only the first is right: the later checks need the earlier ones."""
    if inspect.iscoroutine(domain):
        domain.close()
        yield "the function is a coroutine; expected a plain one"
    missing = _missing(domain, _VALUES) or _missing(domain, _METHODS, Domain)
    if missing is not None:
        yield f"it has no {missing}"
    for name, least in (("size", 1), ("checkpoint_every_ticks", 0)):
        if not isinstance(value := getattr(domain, name), int) or isinstance(value, bool) or value < least:
            yield f"its {name} is {_named(value)}; expected an int >= {least}"
    if not isinstance(domain.chart, Statechart):
        yield f"its chart is {_named(domain.chart)}; expected a prism.statechart.Statechart"
    world = f"its world, {_named(domain.world)}"
    if (missing := _missing(domain.world, _WORLD, World)) is not None:
        yield f"{world}, has no {missing}"
    if (missing := _missing(domain.world, _WORLD_DEFAULTS)) is not None:
        yield f"{world}, has no {missing}, which subclasses of prism.domain.World have"
    try:
        Codec(domain.context_type, domain.effect_type)
    except (TypeError, ValueError) as error:
        yield f"its context_type or effect_type cannot be encoded: {error}"
    if asks_embedded and not isinstance(oracle := domain.oracle(), Oracle):
        yield f"its oracle() returns {_named(oracle)}; expected a prism.statechart.Oracle"


def _missing(owner: object, names: Iterable[str], protocol: type | None = None) -> str | None:
    """Return the first of these members that an object lacks, or only inherits from the protocol, where it is empty."""
    for name in names:
        inherited = None if protocol is None else getattr(protocol, name)
        if not hasattr(owner, name) or (inherited is not None and getattr(type(owner), name, None) is inherited):
            return name
    return None


def _named(value: object) -> str:
    """Return an object in words: a plain value as it is, or the class of any other object."""
    return found(value) if value is None or isinstance(value, int | float | str) else f"a {type(value).__name__}"
