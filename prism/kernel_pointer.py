"""A pointer to a named tuple, for numba: a kernel gets it from Python, or from another kernel, as a single word.

Numba hands a tuple over member by member, and an array is eight members. With fifty arrays, most of the time of
compilation went to that, and 10 us of every call from Python. A kernel that gets a tuple itself puts it into its own
frame, and hands on its address.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba import _dispatcher, typeof, types
from numba.core import cgutils
from numba.core.ccallback import CFunc
from numba.core.datamodel import models
from numba.core.datamodel.registry import register_default
from numba.core.imputils import impl_ret_borrowed, lower_getattr_generic
from numba.core.registry import cpu_target
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import NativeValue, intrinsic, typeof_impl, unbox


class Pointer(types.Type):  # type: ignore[misc]
    """The type of a pointer to a named tuple, whose fields are read as those of the tuple.

    Args:
        of: the type of the tuple.
    """

    def __init__(self, of: Any) -> None:
        self.of = of
        super().__init__(name=f"Pointer({of})")


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
    return impl_ret_borrowed(context, builder, found, builder.load(address))


@intrinsic  # type: ignore[untyped-decorator]
def address_of(_: Any, of: Any) -> Any:
    """Return a pointer to a named tuple in the frame of the kernel that asks for it; a pointer is one already."""
    if isinstance(of, Pointer):
        return of(of), lambda _context, _builder, _signature, arguments: arguments[0]

    def code(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return cgutils.alloca_once_value(builder, arguments[0])

    return Pointer(of)(of), code


_pointers: Final[dict[bytes, Pointer]] = {}
"""`{what numba tells types of values by: the pointer to a tuple of these types}`: to find the type takes 1 ms."""


class InPlace:
    """A named tuple in one place in memory, whose address kernels get.

    Args:
        keep: the kernel that writes a tuple to an address.
    """

    __slots__ = ("_numba_type_", "_of", "_room", "address")

    def __init__(self, of: Any, keep: Callable[[Any, int], None]) -> None:
        kind = _dispatcher.compute_fingerprint(of)
        if kind not in _pointers:
            _pointers[kind] = Pointer(typeof(of))
        self._numba_type_ = pointer = _pointers[kind]
        self._of = of  # its arrays stay where they are for as long as somebody has them
        layout = cpu_target.target_context
        self._room = np.empty(layout.get_abi_sizeof(layout.get_value_type(pointer.of)), dtype=np.uint8)
        self.address = self._room.ctypes.data
        keep(of, self.address)


@typeof_impl.register(InPlace)  # type: ignore[untyped-decorator]
def _type_of(held: Any, _: Any) -> Any:
    return held._numba_type_  # numba's own name


@unbox(Pointer)  # type: ignore[untyped-decorator]
def _unboxed(pointer: Any, held: Any, code: Any) -> Any:
    number = code.pyapi.object_getattr_string(held, "address")
    address = code.pyapi.long_as_ulonglong(number)
    code.pyapi.decref(number)
    return NativeValue(code.builder.inttoptr(address, code.context.get_value_type(pointer)))


@intrinsic  # type: ignore[untyped-decorator]
def put_at(_: Any, of: Any, address: Any) -> Any:
    """Write a named tuple to an address."""

    def code(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        value, at = arguments
        builder.store(value, builder.inttoptr(at, ir.PointerType(value.type)))
        return context.get_dummy_value()

    return types.none(of, address), code


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
    """Call a kernel by its address."""

    def code(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        address, *given = arguments
        kind = ir.FunctionType(ir.DoubleType(), [each.type for each in given])
        return builder.call(builder.inttoptr(address, ir.PointerType(kind)), given)

    whole = types.int64
    return types.float64(whole, tables, whole, whole, whole), code


def callback(function: Any, tables: Any, keep: Callable[[Any, Callable[..., Any]], None], **options: Any) -> Any:
    """Return a compiled kernel of a pointer to tables and three whole numbers, which has an address.

    Args:
        function: the kernel, as numba compiles it for other kernels.
        tables: a named tuple of the types that it will get.
        keep: lets what is compiled be kept.
    """
    whole = types.int64
    made = CFunc(function.py_func, ((Pointer(typeof(tables)), whole, whole, whole), types.float64), {}, options)
    keep(made, function.py_func)
    made.compile()
    return made
