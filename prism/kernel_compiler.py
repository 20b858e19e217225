"""Compiles kernels by numba: what it needs beside its own types, and the machine code of a kernel.

Kernels get a named tuple as a pointer to it, which is one word; `prism.kernels.InPlace` has the tuple. An array
comes from Python as the object that it is: the code reads where its numbers lie.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import sha256
from typing import Any, Final

import numba
import numpy as np
from llvmlite import ir
from numba import typeof, types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.datamodel.registry import register_default
from numba.core.imputils import impl_ret_borrowed, lower_getattr_generic
from numba.core.registry import cpu_target
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import intrinsic, typeof_impl
from numba.np import arrayobj
from numba.np.arrayobj import make_array, populate_array

from prism.kernels import CHECKS, InPlace, MachineCode, compiled_from

_OPTIONS: Final = {
    "nogil": True,
    "error_model": "numpy",
    "boundscheck": CHECKS,
    "_nrt": CHECKS,
    "no_cpython_wrapper": not CHECKS,
}
"""The ways in which kernels are compiled. A kernel makes no array, so it need not count who refers to one.

Other threads go on meanwhile: none reads an array that a kernel writes. Files are made of bytes, a checkpoint is copied
between ticks by the thread of the kernels, and metrics are numbers that it notes between ticks.
"""
_HEAD_BYTES: Final = object.__basicsize__
"""The bytes of an object before the fields of an array: where its numbers lie, the axes, the shape, the strides."""
_WORD_BITS: Final = 64


class Pointer(types.Type):  # type: ignore[misc]
    """The type of a pointer to a named tuple of a type, whose fields are read as those of the tuple."""

    def __init__(self, of: Any) -> None:
        self.of = of
        # The names of types are those of functions, too; that of fifty arrays would be 5 kB.
        super().__init__(name=f"Pointer({sha256(str(of).encode()).hexdigest()[:16]})")


class ArrayObject(types.Type):  # type: ignore[misc]
    """The type of an array of a type as the object that Python has."""

    def __init__(self, of: Any) -> None:
        self.of = of
        super().__init__(name=f"ArrayObject({of})")


@register_default(ArrayObject)
class _ArrayObjectModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, array: Any) -> None:
        super().__init__(manager, array, ir.IntType(8).as_pointer())


@register_default(Pointer)
class _PointerModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, pointer: Any) -> None:
        inner = manager.lookup(pointer.of).get_value_type()
        super().__init__(manager, pointer, ir.PointerType(inner))


@infer_getattr
class _Fields(AttributeTemplate):  # type: ignore[misc]
    key = Pointer

    def generic_resolve(self, pointer: Any, name: str) -> Any:
        """Return the type of a field: of a tuple within the tuple, a pointer to that."""
        if name not in pointer.of.fields:
            return None
        found = pointer.of.types[pointer.of.fields.index(name)]
        return Pointer(found) if isinstance(found, types.NamedTuple) else found


@lower_getattr_generic(Pointer)  # type: ignore[untyped-decorator]
def _read(context: Any, builder: Any, pointer: Any, value: Any, name: str) -> Any:
    place = pointer.of.fields.index(name)
    address = cgutils.gep_inbounds(builder, value, 0, place)
    found = pointer.of.types[place]
    if isinstance(found, types.NamedTuple):
        return address
    return impl_ret_borrowed(context, builder, found, _load(builder, address))


def _load(builder: Any, address: Any) -> Any:
    """Load a member of a tuple. It never changes, so the compiler need not load it again after a write to an array."""
    kind = address.type.pointee
    if not isinstance(kind, ir.Aggregate):
        loaded = builder.load(address)
        if not CHECKS:  # with checks, this reads a copy of the tuple, which is written first
            loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
        return loaded
    whole = ir.Constant(kind, ir.Undefined)
    for place in range(len(kind)):
        whole = builder.insert_value(whole, _load(builder, cgutils.gep_inbounds(builder, address, 0, place)), place)
    return whole


@intrinsic  # type: ignore[untyped-decorator]
def address_of(_: Any, of: Any) -> Any:
    """Return a pointer to a named tuple in the frame of the kernel that asks for it; a pointer is one already."""
    if isinstance(of, Pointer):
        return of(of), lambda _context, _builder, _signature, arguments: arguments[0]

    def code(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return cgutils.alloca_once_value(builder, arguments[0])

    return Pointer(of)(of), code


@intrinsic  # type: ignore[untyped-decorator]
def bring(_: Any, what: Any) -> Any:
    """Let the processor begin to bring a record, or the beginning of an array, from memory."""

    def code(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        word, byte = ir.IntType(32), ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        # To read it, to keep it close, and it is no code: the numbers of LLVM's language reference.
        is_array = isinstance(what, types.Array)
        place = context.make_array(what)(context, builder, arguments[0]).data if is_array else arguments[0]
        builder.call(prefetch, [builder.bitcast(place, byte), word(0), word(3), word(1)])
        return context.get_dummy_value()

    return types.none(what), code


@intrinsic  # type: ignore[untyped-decorator]
def called(_: Any, pointer: Any, tables: Any, person: Any, post: Any, tick: Any) -> Any:  # noqa: ARG001

    def code(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        address, *given = arguments
        kind = ir.FunctionType(ir.DoubleType(), [each.type for each in given])
        return builder.call(builder.inttoptr(address, ir.PointerType(kind)), given)

    whole = types.int64
    return types.float64(whole, tables, whole, whole, whole), code


@intrinsic  # type: ignore[untyped-decorator]
def handed(_: Any, given: Any) -> Any:
    """Return an argument from Python as kernels take it: of the object of an array, the array."""
    if not isinstance(given, ArrayObject):
        return given(given), lambda _context, _builder, _signature, arguments: arguments[0]

    def code(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        kind, word = given.of, ir.IntType(_WORD_BITS)
        fields = builder.bitcast(builder.gep(arguments[0], [word(_HEAD_BYTES)]), word.as_pointer())
        data, shape, strides = (builder.load(builder.gep(fields, [word(place)])) for place in (0, 2, 3))
        axes: list[list[Any]] = [[], []]
        for found, address in zip(axes, (shape, strides), strict=True):
            first = builder.inttoptr(address, word.as_pointer())
            found += [builder.load(builder.gep(first, [word(axis)])) for axis in range(kind.ndim)]
        array = make_array(kind)(context, builder)
        size = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
        kept_at = builder.inttoptr(data, array.data.type)
        populate_array(array, data=kept_at, shape=axes[0], strides=axes[1], itemsize=size, meminfo=None)
        return array._getvalue()  # noqa: SLF001

    return given.of(given), code


@intrinsic  # type: ignore[untyped-decorator]
def upper_half(_: Any, left: Any, right: Any) -> Any:  # noqa: ARG001
    def code(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        word, words = ir.IntType(_WORD_BITS), ir.IntType(2 * _WORD_BITS)
        product = builder.mul(*(builder.zext(each, words) for each in arguments))
        return builder.trunc(builder.lshr(product, words(_WORD_BITS)), word)

    return types.uint64(types.uint64, types.uint64), code


# A kernel never counts from the end of an array, so no index need be compared with 0; with checks, that is an error.
arrayobj.fix_integer_index = lambda context, builder, kind, index, _: context.cast(builder, index, kind, types.intp)


@typeof_impl.register(MachineCode)  # type: ignore[untyped-decorator]
def _type_of_code(code: Any, _: Any) -> Any:
    return cpu_target.typing_context.resolve_value_type(code.in_numba)


def _type_of(given: Any) -> Any:
    if isinstance(given, InPlace):
        of = typeof(given.of)
        layout = cpu_target.target_context
        if layout.get_abi_sizeof(layout.get_value_type(of)) != len(bytes(given)):
            raise TypeError(f"{type(given.of).__name__} is laid out otherwise in machine code")
        return Pointer(of)
    return ArrayObject(typeof(given)) if isinstance(given, np.ndarray) else typeof(given)


INTRINSICS: Final = {each.__name__: each for each in (address_of, bring, called, upper_half)}


@cache
def in_numba(function: Callable[..., Any]) -> Any:
    """Return a kernel, or an intrinsic, as kernels call it. Arithmetic is CPython's: nothing is reordered or fused.

    A kernel that calls another one with a constant, or with a number of fewer bits, calls the one for numbers of 64
    bits: numba would compile one more for each.
    """
    if function.__module__ == "prism.kernels":
        return INTRINSICS[function.__name__]
    made: Any = numba.njit(**_OPTIONS, no_cfunc_wrapper=True)(compiled_from(function))
    of_types = made.get_call_template
    made.get_call_template = lambda args, kws: of_types([*map(_wide, args)], kws)
    return made


def _wide(kind: Any) -> Any:
    kind = types.unliteral(kind)
    return types.int64 if isinstance(kind, types.Integer) and kind.bitwidth < _WORD_BITS else kind


class Compiled:
    """A kernel that is compiled as a function of C, for arguments of some types."""

    def __init__(self, kernel: Any, given: Sequence[Any]) -> None:
        names = [f"a{place}" for place in range(len(given))]
        taken = ", ".join(f"handed({name})" for name in names)
        space = {"kernel": kernel, "handed": handed}
        exec(f"def call({', '.join(names)}):\n    return kernel({taken})", space)  # noqa: S102  # generated by us
        made: Any = numba.njit(**{**_OPTIONS, "no_cpython_wrapper": True})(space["call"])
        kinds = tuple(map(_type_of, given))
        made.compile(kinds)
        self._result = made.overloads[kinds]
        self._name = self._result.fndesc.llvm_cfunc_wrapper_name

    def address(self) -> int:
        """Return its address in this process, as long as this object is kept."""
        return int(self._result.library.get_pointer_to_function(self._name))

    def for_file(self) -> tuple[str, str, bytes, list[str]]:
        library, result = self._result.library, str(self._result.signature.return_type)
        helpers = sorted(set(re.findall(r"@((?:numba|NRT)_\w+)\(", library.get_llvm_str())))
        return self._name, result, library._get_compiled_object(), helpers  # noqa: SLF001  # numba has no other way
