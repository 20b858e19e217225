"""Kernels: plain loops over arrays, which numba compiles to machine code; and the files in which that is kept.

A kernel is a function of arrays and numbers that CPython can run as it is. `compile_kernels` replaces all of them by
what numba makes of them, in every module that knows them; every result stays the same to the bit. A small run ends
before they are loaded, or compiled, so each run says how large it is, and small ones stay in plain Python.

A file has the object code of a kernel for some types of arguments; its directory is for this user, this machine, this
version of the kernels and these versions of numba, numpy and Python. If nothing can be kept, a warning says where and
why, and no run ends for it. numba takes 0.2 s to import and 20 ms to load what it keeps, so it is imported only where a
file is missing; llvmlite, on which numba is built, loads a file in 3 ms.
"""

from __future__ import annotations

import ctypes
import fcntl
import logging
import os
import stat
import struct
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from hashlib import sha256
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from operator import is_
from pathlib import Path
from shutil import rmtree
from threading import Lock
from time import monotonic, sleep
from types import FunctionType, ModuleType
from typing import Any, Final, TypeVar

import msgspec
import numpy as np

from prism.imports import imported_without

_log = logging.getLogger(__name__)
F = TypeVar("F", bound=Callable[..., Any])

SWITCH: Final = "PRISM_JIT"
"""The environment variable: 0 runs all kernels as plain Python, 1 compiles them for the smallest run, too."""
CHECKS: Final = os.environ.get("PRISM_BOUNDS") == "1"
"""True in tests that check every index of every kernel: numba calls kernels then, because they may raise."""
COMPILER: Final = "prism.kernel_compiler"  # the module that imports numba
MODULES: Final = (
    "prism.kernels",
    COMPILER,
    "prism.kernel_rng",
    "prism.expressions.source",
    "prism.agents.bytes_kernel",
    "prism.social.tables",
    "prism.social.kernels.post_kernel",
    "prism.social.kernels.feed_kernel",
    "prism.social.kernels.turn_kernel",
    "prism.social.kernels.choice_kernel",
    "prism.social.posts.post",
    "prism.social.kernels.view_kernel",
)
"""The modules whose text decides what is compiled: the name of the directory holds their hash."""
WORTH_LOADING: Final = 50_000
"""The person-ticks from which a run is over sooner with compiled kernels, if they need only be loaded."""
WORTH_COMPILING: Final = 1_000_000  # the person-ticks from which they are compiled where they are not kept yet
UNUSED_S: Final = 30 * 86_400
"""The seconds without use after which what was compiled for another version is removed: each has 25 MB or more."""
WAIT_S: Final = 180.0
"""The longest wait for another process that compiles, in seconds: one that hangs must not keep the others."""
WAIT_STEP_S: Final = 0.1
READY: Final = "ready"  # the name of the file that says that all kernels are kept, beside them

_kernels: dict[Callable[..., Any], Callable[..., Any]] = {}  # `{kernel: the function that numba compiles in its place}`
_called: list[Any] = []
_generated: dict[tuple[str, bool], ModuleType] = {}
_pointers: dict[Callable[..., Any], int] = {}
_refused: list[str] = []  # the reasons for which the places of `directory` cannot be used, as it has last found them
_failures: list[str] = []  # the first reason for which this process does not keep what it compiles
_is_compiled = False
_compiling: Final = Lock()  # held by the thread that compiles: `prism view` builds several runs at once


def kernel(function: F) -> F:
    _kernels[function] = function
    return function


def compiled_as(other: Callable[..., Any]) -> Callable[[F], F]:
    """Return a decorator for a kernel that numba compiles from another function of the same arguments and results."""

    def noted(function: F) -> F:
        _kernels[function] = other
        return function

    return noted


def address_of(of: Any) -> Any:
    """Return a named tuple as one kernel hands it to another: itself in plain Python, its address in machine code."""
    return of


class Held:
    """The way in which Python hands named tuples to kernels: in machine code by an address, which saves 10 us a call.

    A kernel takes a tuple itself, too. The arrays and numbers of a tuple stay as they were when it was handed first.
    """

    def __init__(self) -> None:
        self._latest: tuple[Any, bool, Any] = None, False, None

    def __call__(self, of: Any) -> Any:
        before, was_compiled, _ = self._latest
        is_same = of is before or (before is not None and all(map(is_, of, before)))
        if not is_same or was_compiled is not _is_compiled:
            if not _is_compiled:
                each_one = zip(of._fields, of, strict=True)
                records = {name: each for name, each in each_one if isinstance(each, np.ndarray) and each.dtype.names}
                made = of._replace(**{name: python_rows(each) for name, each in records.items()})
            else:  # with checks numba counts who refers to an array, and an address is none of them
                made = of if CHECKS else InPlace(of)
            self._latest = of, _is_compiled, made
        return self._latest[2]


def bring(what: Any) -> None:
    """In machine code, begin to bring a record, or the beginning of an array, from memory, for a read soon."""


def handed_over(records: Any) -> Any:
    return records if _is_compiled else python_rows(records)


def python_rows(records: Any) -> Any:
    """Return records as rows of ctypes in the same memory: numpy takes a microsecond to read a field of a record."""
    return (_row_of(records.dtype) * len(records)).from_buffer(records)


_row_of: Final = cache(np.ctypeslib.as_ctypes_type)


def upper_half(left: Any, right: Any) -> Any:
    return np.uint64(int(left) * int(right) >> 64)


def called(pointer: int, tables: Any, person: Any, post: Any, tick: Any) -> Any:
    return _called[pointer](tables, person, post, tick)


def pointer_to(function: Callable[..., Any], tables: Any) -> int:
    """Return a pointer to a generated kernel of tables and three whole numbers, whose result is a float."""
    if function not in _pointers:
        if isinstance(function, MachineCode):
            _pointers[function] = function.address(tables, 0, 0, 0)
        else:
            _called.append(function)
            _pointers[function] = len(_called) - 1
    return _pointers[function]


def compiled_from(function: Callable[..., Any]) -> Callable[..., Any]:
    return _kernels.get(function, function)


def are_compiled() -> bool:
    return _is_compiled


def are_wanted(person_ticks: int) -> bool:
    """Return whether a run of so many person-ticks is to compile its kernels, or to load what is compiled."""
    wanted = os.environ.get(SWITCH, "")
    if wanted == "0" or find_spec("numba") is None:
        return False
    return _is_compiled or wanted == "1" or person_ticks >= (WORTH_LOADING if is_kept() else WORTH_COMPILING)


def is_kept() -> bool:
    place = directory()
    return place is not None and (place / READY).exists()


@contextmanager
def kept() -> Iterator[None]:
    """Hold the right to compile: where kernels are not kept yet, one process calls all of them within this.

    The others wait, and then load what is kept; after `WAIT_S` they compile, too.
    """
    place = directory()
    if place is None or (place / READY).exists():
        yield
        return
    with ExitStack() as stack:
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            lock = stack.enter_context(os.fdopen(os.open(place / "lock", flags, 0o600)))
            end = monotonic() + WAIT_S
            while True:
                with suppress(BlockingIOError):
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                if monotonic() >= end:
                    break
                sleep(WAIT_STEP_S)
        except OSError:  # a full disk, or one without locks: this process compiles without waiting
            pass
        yield
        if not _failures:
            try:
                (place / READY).touch()
            except OSError as error:
                _note_failure(error)


def compile_kernels() -> None:
    """Let all kernels be machine code from now on, in every module that knows them."""
    global _is_compiled  # noqa: PLW0603  # it holds for the process, as the functions do
    with _compiling:
        if _is_compiled:
            return
        for name in MODULES:
            if name != COMPILER:
                import_module(name)
        if (place := directory()) is not None:
            forget_unused(place)
        elif not _failures:
            _failures.append("; ".join(_refused))
            _log.warning("compiled kernels are kept nowhere, so each run compiles them anew: %s", _failures[0])
        functions: list[Callable[..., Any]] = [*_kernels, address_of, bring, called, upper_half]
        made = {each: MachineCode(each, place) for each in functions}
        for module in [each for name, each in sys.modules.items() if name.partition(".")[0] in ("prism", "actors")]:
            for name, value in list(vars(module).items()):
                if type(value) is FunctionType and value in made:
                    setattr(module, name, made[value])
        _is_compiled = True


def generated(name: str, text: str) -> ModuleType:
    """Return the module of a generated text. Its functions are compiled if kernels are, and kept in the same way."""
    key = f"prism_{name}_{sha256(text.encode()).hexdigest()[:16]}", _is_compiled
    if key not in _generated:
        name = key[0]
        module = sys.modules[name] = ModuleType(name)  # numba finds a kernel by the name of its module
        exec(compile(text, f"<{name}>", "exec", dont_inherit=True), vars(module))  # noqa: S102  # generated by us
        if _is_compiled:
            place = directory()
            for each, value in list(vars(module).items()):
                if type(value) is FunctionType and value.__module__ == name:
                    setattr(module, each, MachineCode(value, place))
        _generated[key] = module
    return _generated[key]


def _note_failure(error: OSError) -> None:
    if not _failures:
        _failures.append(str(error.strerror or error))
        _log.warning(
            "compiled kernels are not kept in %s, so each run compiles them anew: %s", directory(), _failures[0]
        )


def directory() -> Path | None:
    """Return the directory for what is compiled, which the user owns and nobody else may write; None if none can be.

    It is `prism/kernels-...` in `XDG_CACHE_HOME`, in `~/.cache`, or else in a directory for temporary files: its files
    are executed, so a directory in which others can write is not used.
    """
    _refused.clear()
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    for is_temporary in (False, True):
        try:
            # Not asked for before it is needed: on a disk that cannot be written there is none.
            name = f"{tempfile.gettempdir()}/prism-{os.getuid()}" if is_temporary else f"{home}/prism"
            place = Path(name).expanduser()
            if not place.is_absolute():
                raise RuntimeError(f"XDG_CACHE_HOME is no absolute path: {home}")
            for each in (place, place / _name()):
                each.parent.mkdir(parents=True, exist_ok=True)
                each.mkdir(mode=0o700, exist_ok=True)
                _refuse_unless_ours(each)
        except (OSError, RuntimeError) as error:
            _refused.append(str(error))
        else:
            return place / _name()
    return None


def forget_unused(place: Path) -> None:
    """Remove what was compiled for other versions and not used for long; `place` is used now."""
    with suppress(OSError):
        os.utime(place)
        now = place.stat().st_mtime
        for other in place.parent.glob("kernels-*"):
            with suppress(OSError):
                _refuse_unless_ours(other)
                if now - other.stat().st_mtime > UNUSED_S:
                    rmtree(other)


@cache
def _name() -> str:
    root = Path(__file__).parent.parent
    text = b"".join((root / f"{name.replace('.', '/')}.py").read_bytes() for name in MODULES)
    about = f"{version('numba')} {version('llvmlite')} {version('numpy')} {sys.version_info} {CHECKS}".encode()
    return f"kernels-{sha256(text + about).hexdigest()[:16]}"


def _refuse_unless_ours(directory: Path) -> None:
    """Refuse a directory in which others can write, or this user cannot."""
    found = directory.lstat()
    is_ours = found.st_uid == os.getuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if not (stat.S_ISDIR(found.st_mode) and is_ours and os.access(directory, os.W_OK)):
        raise PermissionError(f"{directory} is no directory in which this user alone can write")


# Machine code

_RESULTS: Final = {
    "none": None,
    "int64": ctypes.c_int64,
    "uint64": ctypes.c_uint64,
    "float64": ctypes.c_double,
    "bool": ctypes.c_bool,
}
_CODES: Final = {int: "=q", np.uint64: "=Q", float: "=d"}
_IN_C: Final[dict[Any, Any]] = {np.uint64: ctypes.c_uint64, float: ctypes.c_double, np.ndarray: ctypes.py_object}
"""The types of arguments in C; all others are whole numbers, such as the address of a tuple."""
_HASH_BYTES: Final = 32
_ROWS, _COLUMNS = 1, 2
_LAYOUT: Final = 0x500 | _ROWS
"""The flags of an array that change its type: aligned, writeable, and contiguous by rows, or else by columns."""
_loading: Final = Lock()
_loaded: Final[list[Any]] = []  # keeps what is loaded: machine code ends with its library


class Kept(msgspec.Struct, frozen=True, array_like=True):
    """The content of a file, behind its SHA-256: another one than was written is compiled anew and replaced."""

    about: str  # the kernel, and the types of its arguments
    symbol: str  # the name of its code
    result: str  # the type of its result
    code: bytes  # the object file
    helpers: list[str]  # the functions with which numba's code raises errors


class InPlace:
    """A named tuple of arrays, numbers and such tuples in one place in memory, whose address kernels get.

    numba hands a tuple over member by member, and an array is eight members. With fifty arrays, most of the time of
    compilation went to that, and 10 us of every call from Python.

    Raises:
        TypeError: a member is anything else.
    """

    __slots__ = ("_as_parameter_", "_room", "kinds", "of")

    def __init__(self, of: Any) -> None:
        self.of = of  # its arrays stay where they are for as long as somebody has them
        words, kinds = list[bytes](), [type(of).__name__]
        for each in map(_handed, of):
            kinds.append(kind := _kind_of(each))
            if isinstance(each, np.ndarray):  # as numba lays it out
                layout = 0, 0, each.size, each.itemsize, each.__array_interface__["data"][0], *each.shape, *each.strides
                words.append(struct.pack(f"={len(layout)}q", *layout))
            else:
                words.append(bytes(each) if isinstance(each, InPlace) else struct.pack(_CODES[kind], each))
        self.kinds = _text_of(tuple(kinds))  # a text keeps its hash
        self._room = ctypes.create_string_buffer(b"".join(words))
        self._as_parameter_ = ctypes.addressof(self._room)

    def __bytes__(self) -> bytes:
        return self._room.raw[:-1]


def _kind_of(given: Any) -> Any:
    """Return what decides the type of an argument for numba."""
    kind = type(given)
    if kind is np.ndarray:
        flags = given.flags.num
        return given.dtype, given.ndim, flags & (_LAYOUT if flags & _ROWS else _LAYOUT | _COLUMNS)
    return given.kinds if kind is InPlace else kind


def _handed(given: Any) -> Any:
    """Return an argument as it is handed over: an array, a tuple in its place, or a number of 64 bits."""
    if type(given) in _AS_THEY_ARE:
        return given
    if isinstance(given, tuple):
        return InPlace(given)
    return float(given) if isinstance(given, float | np.floating) else int(given)


_AS_THEY_ARE: Final = frozenset({*_CODES, np.ndarray, InPlace})


class MachineCode:
    """A kernel, or an intrinsic of which other kernels have one, as machine code for each combination of types."""

    def __init__(self, function: Callable[..., Any], place: Path | None) -> None:
        self.function, self._place = function, place
        self._calls: dict[tuple[Any, ...], Any] = {}

    @property
    def in_numba(self) -> Any:
        return compiler().in_numba(self.function)

    def __call__(self, *arguments: Any) -> Any:
        if CHECKS:
            return self.in_numba(*arguments)
        given = [*map(_handed, arguments)]
        kinds = tuple(map(_kind_of, given))
        found = self._calls.get(kinds)
        if found is None:
            result, address = self._load(kinds, given)
            types: list[Any] = [_IN_C.get(type(each), ctypes.c_int64) for each in given]
            found = self._calls[kinds] = ctypes.CFUNCTYPE(_RESULTS[result], *types)(address)
        return found(*given)

    def address(self, *arguments: Any) -> int:
        """Return the address of the code for arguments of these types, for other kernels."""
        given = [*map(_handed, arguments)]
        return self._load(tuple(map(_kind_of, given)), given)[1]

    def _load(self, kinds: tuple[Any, ...], given: list[Any]) -> tuple[str, int]:
        """Return the type of the result, and the address of the code, which is compiled unless it is kept."""
        function = self.function
        about = f"{function.__module__} {function.__qualname__} {_processor()} {_text_of(kinds)}"
        name = f"{function.__name__}-{sha256(about.encode()).hexdigest()[:32]}"
        with _loading:
            kept, compiled = self._read(name, about), None
            if kept is None:
                compiled = compiler().Compiled(self.in_numba, given)
                kept = Kept(about, *compiled.for_file())
                if self._place is not None:
                    self._write(self._place, name, msgspec.msgpack.encode(kept))
            try:
                return kept.result, linked(name, kept)
            except RuntimeError:  # with checks, or on a platform whose object files LLVM links in no process
                _loaded.append(compiled := compiled or compiler().Compiled(self.in_numba, given))
                return kept.result, compiled.address()

    def _read(self, name: str, about: str) -> Kept | None:
        if self._place is None:
            return None
        with suppress(OSError, msgspec.DecodeError):
            content = (self._place / f"{name}.kernel").read_bytes()
            if sha256(content[_HASH_BYTES:]).digest() == content[:_HASH_BYTES]:
                kept = msgspec.msgpack.decode(content[_HASH_BYTES:], type=Kept)
                return kept if kept.about == about else None
        return None

    def _write(self, place: Path, name: str, content: bytes) -> None:
        try:
            descriptor, draft = tempfile.mkstemp(suffix=".tmp", dir=place)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(sha256(content).digest() + content)
                Path(draft).replace(place / f"{name}.kernel")
            except BaseException:
                with suppress(OSError):
                    Path(draft).unlink()
                raise
        except OSError as error:
            _note_failure(error)


_text_of: Final = cache(repr)


def linked(name: str, kept: Kept) -> int:
    """Bring an object file into this process, and return the address of its code.

    Raises:
        RuntimeError: LLVM cannot link it, or it may raise errors.
    """
    if CHECKS:
        raise RuntimeError("kernels raise errors, for which numba's helpers are needed")
    # Without checks no kernel raises, so no helper is called.
    library, abort = import_module("llvmlite.binding").JITLibraryBuilder(), ctypes.CDLL(None).abort
    for helper in kept.helpers:
        library.import_symbol(helper, ctypes.cast(abort, ctypes.c_void_p).value)
    library.add_object_img(kept.code).add_current_process().export_symbol(kept.symbol)
    _loaded.append(library := library.link(_linker(), f"{name}-{len(_loaded)}"))
    return int(library[kept.symbol])


@cache
def _linker() -> Any:
    binding = import_module("llvmlite.binding")
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding.create_lljit_compiler(binding.Target.from_default_triple().create_target_machine())


@cache
def _processor() -> str:
    binding = import_module("llvmlite.binding")
    about = f"{binding.get_host_cpu_name()} {binding.get_host_cpu_features().flatten()}"
    return sha256(about.encode()).hexdigest()


@cache
def compiler() -> ModuleType:
    """Return the module that compiles, without two packages that would double the time of numba's import."""
    imported_without("numba.np.arraymath", "scipy", "coverage")
    return imported_without(COMPILER, "scipy", "coverage")
