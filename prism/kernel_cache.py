"""Compiled kernels in files: each file begins with the SHA-256 of its content, and holds one kernel for one signature.

numba's own cache believes its files: a changed bit there is an error that ends the run, or machine code that crashes
the process. Here a file that is not what was written is compiled anew and replaced, and a disk error only means that
the kernel is not kept.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from tempfile import mkstemp
from typing import Any, Final

from numba.core.caching import Cache, CompileResultCacheImpl
from numba.core.serialize import dumps

SUFFIX: Final = ".kernel"
_HASH_BYTES: Final = 32


class _Results(CompileResultCacheImpl):  # type: ignore[misc]
    """Compiled functions as numba takes them apart, without its search for a place to keep them."""

    def __init__(self) -> None:
        """Leave out numba's locator: it needs a source file, and a disk that can be written."""


class KernelCache(Cache):  # type: ignore[misc]
    """The compiled forms of one function, as numba asks for them.

    Args:
        function: the function in Python.
        place: the directory of the files.
        on_failure: is called with the error of a disk that does not keep a file.
    """

    def __init__(self, function: Callable[..., Any], place: Path, on_failure: Callable[[OSError], None]) -> None:
        self._py_func = function
        self._place = place
        self._on_failure = on_failure
        self._impl = _Results()
        self.enable()

    @property
    def cache_path(self) -> str:
        return str(self._place)

    def flush(self) -> None:
        """Keep all files: nothing in them is ever out of date."""

    def _load_overload(self, signature: Any, context: Any) -> Any:
        key = self._index_key(signature, context.codegen())
        try:
            content = self._file(key).read_bytes()
        except OSError:
            return None
        if sha256(content[_HASH_BYTES:]).digest() != content[:_HASH_BYTES]:
            return None
        kept_key, result = pickle.loads(content[_HASH_BYTES:])  # noqa: S301  # nobody else can write in this directory
        return self._impl.rebuild(context, result) if kept_key == key else None

    def _save_overload(self, signature: Any, result: Any) -> None:
        if result.library.has_dynamic_globals:  # addresses of this process
            return
        key = self._index_key(signature, result.codegen)
        content = dumps((key, self._impl.reduce(result)))
        try:
            descriptor, draft = mkstemp(suffix=".tmp", dir=self._place)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(sha256(content).digest() + content)
                Path(draft).replace(self._file(key))
            except BaseException:
                with suppress(OSError):
                    Path(draft).unlink()
                raise
        except OSError as error:
            self._on_failure(error)

    def _file(self, key: Any) -> Path:
        function = self._py_func
        about = f"{function.__module__} {function.__qualname__} {key}"
        return self._place / f"{function.__name__}-{sha256(about.encode()).hexdigest()[:32]}{SUFFIX}"
