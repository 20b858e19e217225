"""The input files of a run. They are opened only here, and hashed, so that the manifest can name their content.

A run keeps each of them in its directory as `inputs/SHA-256/NAME`, and the user's own code as the directory
`inputs/SHA-256`. Its configuration calls them by these names, which are the same on every machine. A name says what the
content is, so it does not matter in which run it is found.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import zlib
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial, reduce
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from actors.core.files import CHUNK_BYTES, NotRegularError, TooLargeError, read_regular
from actors.factory.file_kinds import GRAPH, HOURLY, PEOPLE, POSTS, SHARES, parse_graph, telling_kind
from actors.factory.shipped import find_shipped
from prism.config import Config, LLMConfig
from prism.config.interventions import with_settings
from prism.config.load import PlacedConfig
from prism.config.model import PopulationConfig
from prism.config.yaml_text import innermost
from prism.errors import ConfigError, InputError
from prism.llm.prompt import NEEDED, SHIPPED, Template, template_file
from prism.llm.prompt import PATH as PROMPT
from prism.social.people.margins import Margins, parse_margin
from prism.social.people.population import Population, build_population, ignore_step, parse_hours
from prism.social.people.profiles import parse_profiles
from prism.social.posts.post_file import GivenPost, parse_posts
from prism.social.ties.graph import LateGraph, generate
from prism.text_files import decode_text

PATHS = (
    *("population.profiles", "population.posts.file", "population.graph.path", "population.activity.hours"),
    *("statechart.file", "economy.initial.path", PROMPT),
)
"""The settings that name an input file, as the margins and the tape do."""
TAPE_PATH = "oracle.tape_path"
INPUTS = "inputs"
KEPT = re.compile(rf"{INPUTS}/(?P<sha256>[0-9a-f]{{64}})(?:/(?P<name>[^/]+))?")
"""The name by which a run calls a kept input; that of kept code has no `name`."""
SOURCE_BYTES_MAX = 1 << 28  # the most bytes of one file of code
INPUT_BYTES_MAX = 4 * 1024**3
"""The most bytes of one file, unpacked. A small .gz can unpack to more than the memory; public follow graphs fit."""
PROMPT_BYTES_MAX = 256 * 1024  # the most bytes of a template
UNPACK_RATIO_MAX = 100
"""The most times that a .gz may be larger unpacked. Follow graphs and profiles reach 3 to 20; gzip can do 1,000."""
UNPACK_FREE_BYTES = 64 * 1024**2
"""Bytes that a .gz may have unpacked at any ratio: a small table of equal rows compresses well, and is harmless."""
GZIP, PARQUET = b"\x1f\x8b", b"PAR1"  # the first bytes of a gzip file

BRING_ALONG = "bring along the whole directory of the run, or one file of it, which `prism pack` makes"
"""The remedy where a run lacks an input that it keeps."""

KEPT_MAX, KEPT_BYTES_MAX = 4, 256 * 1024**2
"""The input files whose content is kept by a process that makes many runs, and their bytes, unpacked."""

_places: dict[str, Path] = {}
"""`{name of a kept input: where it is here}`, for the runs that this process has opened, the latest last."""

Kept = OrderedDict[tuple[object, ...], tuple[int, Any]]
"""`{file's hash and how it is read: (bytes, content)}`, the latest used last."""
_kept: Kept | None = None
C = TypeVar("C")
T = TypeVar("T")


class Input(msgspec.Struct, frozen=True, kw_only=True):
    """A file's contents: `name` as the user wrote it, `data` unpacked, `sha256` of the file as it is on disk."""

    name: str
    data: bytes
    sha256: str


def load_population(
    config: PopulationConfig, seed: int, on_step: Callable[[str], None] = ignore_step, *, looks: bool = False
) -> tuple[Population, dict[str, str]]:
    """Return the population that the configuration asks for, and `{input file, as the user wrote it: SHA-256}`.

    Args:
        looks: make a graph that is drawn when its ties are first asked for.

    Raises:
        InputError: a file cannot be read, or its content cannot be used.
        ConfigError: the settings contradict each other.
    """
    profiles, hashes = _parsed(config.profiles, parse_profiles, config, PEOPLE, "profiles", on_step)
    graph, of_graph = _parsed(config.graph.path, parse_graph, config.graph, GRAPH, "graph", on_step)
    named = config.activity.hours if isinstance(config.activity.hours, str) else None
    hours, of_hours = _parsed(named, parse_hours, config, HOURLY)
    margins = [_parsed(name, parse_margin, config, SHARES) for name in config.margins]
    tables = [table for table, _ in margins if table is not None]
    posts, of_posts = load_posts(config)
    if looks and graph is None and not profiles:
        graph = LateGraph(config.size, partial(generate, config.graph, config.size, seed))
    population = build_population(
        config,
        seed,
        profiles=profiles,
        graph=graph,
        hours=hours,
        margins=Margins(tables, config) if tables else None,
        posts=posts,
        on_step=on_step,
    )
    for _, of_table in margins:
        hashes |= of_table
    return population, hashes | of_graph | of_hours | of_posts


def with_prompt(config: Config) -> tuple[Config, dict[str, str]]:
    """Return the configuration with the text of its template in `llm.prompt`, and `{its file or name: SHA-256}`.

    Raises:
        InputError: the template's file cannot be read.
        ConfigError: the template cannot be filled, or the domain takes none.
    """
    name, asks, domain = config.llm.prompt, config.oracle.backend != "choice", config.simulation.domain
    is_text, is_shipped = "\n" in name, domain == "economy" and name in SHIPPED
    if is_shipped and asks and name != LLMConfig().prompt:
        problem = f"{name} is about people on a feed; expected a template of your own, or none"
        raise ConfigError("configuration", problem, key=PROMPT)
    if is_shipped or (not asks and not is_text and not locate_input(name).is_file()):  # nobody needs it
        return config, {}
    text, hashes = name, dict[str, str]()
    if not is_text:
        source = read_input(name, bytes_max=PROMPT_BYTES_MAX)
        text = decode_text(source.data, name)
        text = text if "\n" in text else f"{text}\n"
        hashes = {name: source.sha256} if asks else {}
    template = Template(text, PROMPT if is_text else name)
    if domain == "economy":
        from prism.economy.oracle import PLACEHOLDERS  # noqa: PLC0415  # a run needs one of the domains

        template.check(known=PLACEHOLDERS, needed=["answer"])
    else:
        needed = (*NEEDED, "memory") if config.llm.memory else NEEDED  # or the setting would have no effect
        template.check(config.population.attributes if domain == "social" else None, needed=needed)
    return replace(config, llm=replace(config.llm, prompt=text)), hashes


def load_posts(config: PopulationConfig) -> tuple[tuple[GivenPost, ...] | None, dict[str, str]]:
    """Return the posts in the file that the configuration names, and the hash of the file."""
    return _parsed(config.posts.file, parse_posts, config, POSTS, "posts")


def _parsed(
    name: str | None,
    parse: Callable[[bytes, str, C], T],
    config: C,
    taker: str,
    what: str = "",
    on_step: Callable[[str], None] = ignore_step,
) -> tuple[T | None, dict[str, str]]:
    """Return the parsed content of an input file, and `{file: SHA-256}`; None and an empty dict without a file.

    Args:
        config: the settings that the result depends on.
        taker: the place that takes files of this kind, in words.
        what: the name of the content, under which other runs of this process share it; empty if they may not.
    """
    if name is None:
        return None, {}
    on_step(f"reading {name}")
    with fitting_memory(name):
        source = read_input(name)
        key, kept = (source.sha256, source.name, what, repr(config)), _kept if what else None
        if kept is not None and key in kept:
            kept.move_to_end(key)
        else:
            with telling_kind(name, taker, locate_input(name)):
                made = parse(source.data, source.name, config)
            kept = OrderedDict() if kept is None else kept
            kept[key] = (len(source.data), made)
        found: T = kept[key][1]
        while len(kept) > KEPT_MAX or sum(size for size, _ in kept.values()) > KEPT_BYTES_MAX:
            kept.popitem(last=False)
    return found, {name: source.sha256}


def read_input(path: str | Path, *, bytes_max: int = INPUT_BYTES_MAX) -> Input:
    """Return the contents of a file, unpacked if it is packed with gzip."""
    name = str(path)
    try:
        # What goes wrong later is no fault of the file, such as a disk that is full.
        try:
            with fitting_memory(name):
                raw = read_regular(locate_input(name), bytes_max)
        except FileNotFoundError:
            raise InputError(name, _no_such_file(name)) from None
        except NotRegularError as error:
            # A pipe or a device cannot be read a second time, when the run is repeated.
            raise InputError(name, f"is a {error.kind}: expected a file") from None
        except OSError as error:
            if isinstance(error, TooLargeError):
                raise
            raise InputError(name, f"cannot be read: {error.strerror}") from None
        digest, kept = hashlib.sha256(raw).hexdigest(), kept_sha256(name)
        if kept not in {None, digest}:
            raise InputError(name, f"is not what the run has kept: its SHA-256 is {digest[:12]}; {BRING_ALONG}")
        data = _unpack(raw, name, bytes_max) if name.lower().endswith(".gz") or raw.startswith(GZIP) else raw
        if data.startswith(PARQUET):
            data = _table_in(data, name, bytes_max)
    except TooLargeError:
        problem = f"is larger than the {bytes_max:,} bytes that one input file may have"
        raise InputError(name, problem) from None
    return Input(name=name, data=data, sha256=digest)


def share_inputs() -> None:
    """Keep the graphs and profiles that this process reads from now on, a few of them, for its other runs.

    They are known by the hash of their file, and never changed, so runs do not differ by it.
    """
    global _kept  # noqa: PLW0603  # of the process
    _kept = OrderedDict() if _kept is None else _kept


@contextmanager
def fitting_memory(name: str) -> Iterator[None]:
    """Turn a lack of memory in the block into an error of the input file that is read or parsed there."""
    try:
        yield
    except MemoryError:
        raise InputError(name, "needs more memory than this process may use; take a sample, or allow more") from None


def kept_name(digest: str, name: str) -> str:
    return f"{INPUTS}/{digest}/{PurePath(name).name}"


def is_kept(name: str | None) -> bool:
    return name is not None and KEPT.fullmatch(name) is not None


def kept_sha256(name: str) -> str | None:
    """Return the SHA-256 that the content of a kept input must have; None for another file."""
    found = KEPT.fullmatch(name)
    return None if found is None else found["sha256"]


def plain_name(name: str) -> str:
    """Return the name of an input file without its directory, as pages and reports show it."""
    return PurePath(name).name if is_kept(name) else name


def note_places(names: Iterable[str], directory: Path) -> None:
    """Note that the kept inputs with these names are in a directory: that of a run, or of an experiment."""
    note_files({name: directory / name for name in names if is_kept(name)})


def note_files(places: Mapping[str, Path]) -> None:
    """Note the files with the content of kept inputs; these may have any names."""
    _places.update(places)


def place_of(name: str) -> Path:
    """Return the place of a kept input. If nobody has noted it, it is looked up from the current directory."""
    return _places.get(name, Path(name))


def locate_input(name: str) -> Path:
    """Return where a file is: in the run that keeps it, else from the current directory, or among PRISM's own."""
    if is_kept(name):
        return place_of(name)
    if name in SHIPPED:
        return Path(str(template_file(name)))
    path = Path(name)
    return path if path.exists() else find_shipped(name) or path


def with_inputs_beside(config: Config, directory: Path) -> Config:
    """Return the configuration; paths of input files that lie only beside it, in `directory`, get that directory."""

    def find(name: str) -> str:
        is_here = is_kept(name) or name in SHIPPED or Path(name).exists() or not (directory / name).exists()
        return name if is_here else str(directory / name)

    return with_inputs(config, find)


def with_inputs(config: Config, rename: Callable[[str], str]) -> Config:
    """Return the configuration with other names of the input files that its settings name."""
    new: dict[str, Any] = {"population.margins": tuple(map(rename, config.population.margins))}
    for path in (*PATHS, *([TAPE_PATH] if replays_tape(config) else ())):
        named = reduce(getattr, path.split("."), config)
        new |= {path: rename(named)} if isinstance(named, str) and "\n" not in named else {}
    return with_settings(config, new)


def with_texts(value: Any, new: Mapping[str, str]) -> Any:
    """Return a value of JSON with other texts in it, `{text: the new one}`, except the names."""
    if isinstance(value, str):
        return new.get(value, value)
    if isinstance(value, dict):
        return {name: with_texts(inner, new) for name, inner in value.items()}
    return [with_texts(inner, new) for inner in value] if isinstance(value, list | tuple) else value


def texts_in(value: Any) -> Iterator[str]:
    """Yield the texts in a value of JSON, except the names in it."""
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ():
        yield from texts_in(inner)


def kept_inputs(config: Config) -> list[str]:
    """Return the names of the kept inputs that a configuration names, files and code."""
    simulation = config.simulation
    names = [*input_paths(config).values(), *simulation.domain_inputs.values(), *texts_in(config.domain)]
    names += [simulation.domain_path or "", config.oracle.tape_path or ""]
    return [*dict.fromkeys(filter(is_kept, names))]


def input_paths(config: Config) -> dict[str, str]:
    """Return `{dotted path of a setting: the input file that it names}` for the files that the domain reads."""
    domain = config.simulation.domain
    found = dict[str, str]()
    for path in PATHS:
        named: object = reduce(getattr, path.split("."), config)
        if path == PROMPT:
            has_file = domain != "economy" or config.llm.prompt not in SHIPPED
            if has_file and config.oracle.backend != "choice" and "\n" not in config.llm.prompt:
                found[path] = config.llm.prompt
        elif isinstance(named, str) and domain == ("economy" if path.startswith("economy.") else "social"):
            found[path] = named
    margins = enumerate(config.population.margins if domain == "social" else ())
    return {**found, **{f"population.margins[{place}]": name for place, name in margins}}


def replays_tape(config: Config) -> bool:
    """Return whether a run takes its answers from a tape, which is then one of its inputs."""
    return config.oracle.backend != "choice" and config.oracle.tape == "replay"


def missing_inputs(placed: PlacedConfig, config: Config, but: Collection[str] = ()) -> Iterator[InputError]:
    """Yield the input files that are named and do not exist; the paths in a configuration include their directory."""
    for key, name in input_paths(config).items():
        place = placed.places.get(innermost(key, placed.places))
        if name not in but and place is not None and not locate_input(name).exists():
            more = f"; the templates that ship are {' and '.join(SHIPPED)}" if key == PROMPT else ""
            yield InputError(place.source, f"{name}: {_no_such_file(name)}{more}", key=key, line=place.line)


def _no_such_file(name: str) -> str:
    """Return the problem with an input file that is missing: where it was looked for."""
    kept = f"is missing: it was looked for in {place_of(name).parent}; {BRING_ALONG}"
    return kept if is_kept(name) else f"no such file in {locate_input(name).absolute().parent}"


def _table_in(data: bytes, name: str, bytes_max: int) -> bytes:
    """Return the table in a Parquet file as CSV, with a header and a line for each row."""
    import duckdb  # noqa: PLC0415  # most runs read no Parquet

    with TemporaryDirectory(prefix="prism-") as directory, fitting_memory(name):
        table, text = Path(directory, "table.parquet"), Path(directory, "table.csv")
        table.write_bytes(data)
        try:
            with duckdb.connect(config={"threads": 1}) as database:
                found = database.read_parquet(str(table), hive_partitioning=False)  # its directory's name is no column
                found.write_csv(str(text), header=True)
        except duckdb.Error as error:
            problem = str(error).split("\n")[0].replace(str(table), PurePath(name).name)
            raise InputError(name, f"cannot be read as Parquet: {problem}") from None
        if text.stat().st_size > bytes_max:
            raise TooLargeError(Path(name), bytes_max)
        return text.read_bytes()


def _unpack(raw: bytes, name: str, bytes_max: int) -> bytes:
    if not raw:
        raise InputError(name, "is no whole gzip file: it is empty")
    ratio_bytes_max, chunks, size = max(UNPACK_FREE_BYTES, UNPACK_RATIO_MAX * len(raw)), list[bytes](), 0
    try:
        with fitting_memory(name), gzip.GzipFile(fileobj=io.BytesIO(raw)) as packed:
            while chunk := packed.read(CHUNK_BYTES):
                chunks.append(chunk)
                size += len(chunk)
                if size > bytes_max:
                    raise TooLargeError(Path(name), bytes_max)
                if size > ratio_bytes_max:
                    problem = f"unpacks to more than {UNPACK_RATIO_MAX} times its size of {len(raw):,} bytes"
                    raise InputError(name, f"{problem}: expected the text of a graph, of profiles or of a table")
            return b"".join(chunks)
    except TooLargeError:
        raise
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(name, f"is no whole gzip file: {error}") from None
