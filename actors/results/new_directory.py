"""A directory that is written whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Container, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

from actors.core.errors import RunDirectoryError, run_directory_error
from actors.core.files import beside, hold, opened_as_it_is, remove_abandoned


@contextmanager
def new_directory(out: Path, files: Container[str], *, replaces: bool) -> Iterator[Path]:
    """Yield an empty directory beside `out`; it gets the name `out` at the end of the block, or is removed on an error.

    The leftovers of killed processes are removed first.

    Args:
        files: the names of the files that it may get.
        replaces: whether a directory with nothing but such files is replaced.
    """
    _refuse_unless_free(out, files, replaces=replaces)
    draft: Path | None = None
    try:
        remove_abandoned(out)
        draft = Path(mkdtemp(prefix=f".{out.name}.", suffix=".tmp", dir=out.parent))
        with opened_as_it_is(draft) as descriptor:
            hold(descriptor)
            yield draft
        draft.chmod(0o755)
        if out.exists():
            old = Path(mkdtemp(prefix=f".{out.name}.", suffix=".old", dir=out.parent))
            out.replace(old)
            draft.replace(out)
        else:
            draft.replace(out)
        for old in beside(out, ".old"):
            shutil.rmtree(old, ignore_errors=True)
        draft = None
    except OSError as error:
        raise run_directory_error(error, f"{out}: cannot be written") from None
    finally:
        if draft is not None:
            shutil.rmtree(draft, ignore_errors=True)


def _refuse_unless_free(out: Path, files: Container[str], *, replaces: bool) -> None:
    if not out.exists() and not out.is_symlink():
        if not out.parent.is_dir():
            raise RunDirectoryError(f"{out.parent}: no such directory")
        return
    if out.is_symlink() or not out.is_dir() or any(path.name not in files for path in out.iterdir()):
        raise RunDirectoryError(f"{out}: exists already, and is no export, so it is not replaced")
    if not replaces:
        raise RunDirectoryError(f"{out}: exists already; --force replaces this export")
