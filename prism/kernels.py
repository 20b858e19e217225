"""Kernels: plain loops over arrays, which numba compiles to machine code.

A kernel is a function of arrays and numbers that CPython can run as it is. `compile_kernels` replaces all of them by
what numba makes of them, in every module that knows them; every result stays the same to the bit. A small run ends
before they are loaded, or compiled, so each run says how large it is, and small ones stay in plain Python.

What numba has compiled is kept in a directory of the user's, for this machine, this version of the kernels and these
versions of numba, numpy and Python. If it cannot be kept, a warning says where and why; no run ends for it.
"""

from __future__ import annotations

import fcntl
import logging
import os
import stat
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
from types import ModuleType
from typing import Any, Final, TypeVar

import numpy as np

from prism.machine_code import CHECKS, InPlace, MachineCode

_log = logging.getLogger(__name__)
F = TypeVar("F", bound=Callable[..., Any])

SWITCH: Final = "PRISM_JIT"
"""The environment variable: 0 runs all kernels as plain Python, 1 compiles them for the smallest run, too."""
MODULES: Final = (
    "prism.kernels",
    "prism.kernel_compiler",
    "prism.machine_code",
    "prism.kernel_rng",
    "prism.kernel_delays",
    "prism.expressions.source",
    "prism.agents.bytes_kernel",
    "prism.social.tables",
    "prism.social.kernels.post_kernel",
    "prism.social.kernels.feed_kernel",
    "prism.social.kernels.turn_kernel",
    "prism.social.kernels.choice_kernel",
    "prism.social.posts.post",
    "prism.social.kernels.view_kernel",
    "prism.social.kernels.stretch_kernel",
)
"""The modules whose text decides what is compiled: the name of the directory holds their hash."""
COMPILER: Final = "prism.kernel_compiler"
"""The one of these modules that imports numba."""
WORTH_LOADING: Final = 50_000
"""The person-ticks from which a run is over sooner with compiled kernels, if they need only be loaded."""
WORTH_COMPILING: Final = 1_000_000
"""The person-ticks from which they are compiled where they are not kept yet."""
UNUSED_S: Final = 30 * 86_400
"""The seconds without use after which what was compiled for another version is removed: each has 25 MB or more."""

WAIT_S: Final = 180.0
"""The longest wait for another process that compiles, in seconds: one that hangs must not keep the others."""
WAIT_STEP_S: Final = 0.1
READY: Final = "ready"
"""The name of the file that says that all kernels are kept, beside them."""

_kernels: dict[Callable[..., Any], Callable[..., Any]] = {}
"""`{kernel: the function that numba compiles in its place}`."""
_called: list[Any] = []
_generated: dict[tuple[str, bool], ModuleType] = {}
_pointers: dict[Callable[..., Any], int] = {}
_refused: list[str] = []
"""The reasons for which the places of `directory` cannot be used, as it has last found them."""
_failures: list[str] = []
"""The first reason for which this process does not keep what it compiles."""
_is_compiled = False
_compiling: Final = Lock()
"""Held by the thread that compiles: `prism view` builds several runs at once."""


def kernel(function: F) -> F:
    """Note a function of arrays and numbers as a kernel, and return it."""
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
            # With checks numba counts who refers to an array, and an address is none of them.
            made = in_plain(of) if not _is_compiled else of if CHECKS else InPlace(of)
            self._latest = of, _is_compiled, made
        return self._latest[2]


def bring(what: Any) -> None:
    """Begin to bring a record, or the beginning of an array, from memory, so that a read soon need not wait for it.

    In plain Python it does nothing.
    """


def in_plain(of: Any) -> Any:
    """Return a named tuple whose records plain Python reads fast: as rows of ctypes, in the same memory.

    A field of a record of numpy takes a microsecond and more.
    """
    members = zip(of._fields, of, strict=True)
    records = {name: each for name, each in members if isinstance(each, np.ndarray) and each.dtype.names}
    return of._replace(**{name: python_rows(each) for name, each in records.items()})


def handed_over(records: Any) -> Any:
    """Return an array of records as kernels get it from Python."""
    return records if _is_compiled else python_rows(records)


def python_rows(records: Any) -> Any:
    """Return records as rows of ctypes, in the same memory."""
    return (_row_of(records.dtype) * len(records)).from_buffer(records)


_row_of: Final = cache(np.ctypeslib.as_ctypes_type)


def upper_half(left: Any, right: Any) -> Any:
    """Return the upper 64 bits of a product of 128 bits."""
    return np.uint64(int(left) * int(right) >> 64)


def called(pointer: int, tables: Any, person: Any, post: Any, tick: Any) -> Any:
    """Return the result of a kernel that another one has a pointer to: see `pointer_to`."""
    return _called[pointer](tables, person, post, tick)


def pointer_to(function: Callable[..., Any], tables: Any) -> int:
    """Return a pointer to a generated kernel of tables and three whole numbers, of which the result is a float.

    It is a number in a list in plain Python, and an address in machine code.
    """
    if function not in _pointers:
        if isinstance(function, MachineCode):
            _pointers[function] = function.address(tables, 0, 0, 0)
        else:
            _called.append(function)
            _pointers[function] = len(_called) - 1
    return _pointers[function]


def compiled_from(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that numba compiles in the place of a kernel."""
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
    """Hold the right to compile: where kernels are not kept yet, one process compiles them and others wait.

    All kernels are called within this. The others then load what is kept. After `WAIT_S` they wait no longer, and
    compile, too.
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
        made = {each: MachineCode(each, place, _note_failure) for each in functions}
        for module in [each for name, each in sys.modules.items() if name.partition(".")[0] in ("prism", "actors")]:
            for name, value in list(vars(module).items()):
                if type(value) is _FUNCTION and value in made:
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
                if type(value) is _FUNCTION and value.__module__ == name:
                    setattr(module, each, MachineCode(value, place, _note_failure))
        _generated[key] = module
    return _generated[key]


def _note_failure(error: OSError) -> None:
    """Warn, once in a process, that a compiled kernel is not kept."""
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
    """Return the name of the directory: by the text of the kernels, and by the versions."""
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


_FUNCTION: Final = type(_refuse_unless_ours)
