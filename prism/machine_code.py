"""Kernels as machine code: one object file for a kernel and the types of its arguments, called by its address.

numba compiles, and takes 0.2 s to import and 20 ms to load what it keeps. So it is imported only where a file is
missing; llvmlite, on which numba is built, loads a file in 3 ms. A file begins with the SHA-256 of its content: one
that is not what was written is compiled anew and replaced, and a disk error only means that the kernel is not kept.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from tempfile import mkstemp
from threading import Lock
from types import ModuleType
from typing import Any, Final

import msgspec
import numpy as np

from prism.imports import imported_without

CHECKS: Final = os.environ.get("PRISM_BOUNDS") == "1"
"""True in tests that check every index of every kernel: numba calls kernels then, because they may raise."""
SUFFIX: Final = ".kernel"
RESULTS: Final = {
    "none": None,
    "int64": ctypes.c_int64,
    "uint64": ctypes.c_uint64,
    "float64": ctypes.c_double,
    "bool": ctypes.c_bool,
}
"""The results that a kernel can give to Python, by numba's names of their types."""
_CODES: Final = {int: "=q", np.uint64: "=Q", float: "=d"}
_IN_C: Final[dict[Any, Any]] = {np.uint64: ctypes.c_uint64, float: ctypes.c_double, np.ndarray: ctypes.py_object}
"""The types of arguments in C; all others are whole numbers, such as the address of a tuple."""
_HASH_BYTES: Final = 32
_ROWS, _COLUMNS = 1, 2
_LAYOUT: Final = 0x500 | _ROWS
"""The flags of an array that change its type: aligned, writeable, and contiguous by rows, or else by columns."""
_loading: Final = Lock()
_loaded: Final[list[Any]] = []
"""Keeps what is loaded: machine code ends with its library."""


class Kept(msgspec.Struct, frozen=True, array_like=True):
    """The content of a file.

    Args:
        about: the kernel, and the types of its arguments.
        symbol: the name of its code; result: the type of its result; code: the object file.
        helpers: the functions with which numba's code raises errors.
    """

    about: str
    symbol: str
    result: str
    code: bytes
    helpers: list[str]


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
            kinds.append(kind := kind_of(each))
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


def kind_of(given: Any) -> Any:
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
    """A kernel as machine code, for each combination of types with which it is called.

    Args:
        function: the kernel in Python, or the intrinsic of the same name, which only other kernels call.
        place: the directory of the files; None if nothing is kept.
        on_failure: is called with the error of a disk that does not keep a file.
    """

    def __init__(self, function: Callable[..., Any], place: Path | None, on_failure: Callable[[OSError], None]) -> None:
        self.function = function
        self._place, self._on_failure = place, on_failure
        self._calls: dict[tuple[Any, ...], Any] = {}

    @property
    def in_numba(self) -> Any:
        """The kernel as kernels that numba compiles call it."""
        return compiler().in_numba(self.function)

    def __call__(self, *arguments: Any) -> Any:
        if CHECKS:
            return self.in_numba(*arguments)
        given = [*map(_handed, arguments)]
        return self.of(given)(*given)

    def of(self, given: list[Any]) -> Any:
        """Return the code for arguments of these types, to be called by Python."""
        kinds = tuple(map(kind_of, given))
        found = self._calls.get(kinds)
        if found is None:
            result, address = self._load(kinds, given)
            types: list[Any] = [_IN_C.get(type(each), ctypes.c_int64) for each in given]
            found = self._calls[kinds] = ctypes.CFUNCTYPE(RESULTS[result], *types)(address)
        return found

    def address(self, *arguments: Any) -> int:
        """Return the address of the code for arguments of these types, for other kernels."""
        given = [*map(_handed, arguments)]
        return self._load(tuple(map(kind_of, given)), given)[1]

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
                self._write(name, kept)
            try:
                return kept.result, linked(name, kept)
            except RuntimeError:  # with checks, or on a platform whose object files LLVM links in no process
                _loaded.append(compiled := compiled or compiler().Compiled(self.in_numba, given))
                return kept.result, compiled.address()

    def _read(self, name: str, about: str) -> Kept | None:
        if self._place is None:
            return None
        with suppress(OSError, msgspec.DecodeError):
            content = (self._place / f"{name}{SUFFIX}").read_bytes()
            if sha256(content[_HASH_BYTES:]).digest() == content[:_HASH_BYTES]:
                kept = msgspec.msgpack.decode(content[_HASH_BYTES:], type=Kept)
                return kept if kept.about == about else None
        return None

    def _write(self, name: str, kept: Kept) -> None:
        if self._place is None:
            return
        content = msgspec.msgpack.encode(kept)
        try:
            descriptor, draft = mkstemp(suffix=".tmp", dir=self._place)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(sha256(content).digest() + content)
                Path(draft).replace(self._place / f"{name}{SUFFIX}")
            except BaseException:
                with suppress(OSError):
                    Path(draft).unlink()
                raise
        except OSError as error:
            self._on_failure(error)


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
    """Return the hash of the processor for which numba compiles."""
    binding = import_module("llvmlite.binding")
    about = f"{binding.get_host_cpu_name()} {binding.get_host_cpu_features().flatten()}"
    return sha256(about.encode()).hexdigest()


@cache
def compiler() -> ModuleType:
    """Return what compiles kernels with numba, whose import takes 0.2 s, and as long again with two needless packages.

    It looks for scipy to multiply matrices, and for coverage to tell which lines it has compiled.
    """
    imported_without("numba.np.arraymath", "scipy", "coverage")
    return imported_without("prism.kernel_compiler", "scipy", "coverage")
