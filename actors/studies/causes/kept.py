"""The causes that `prism cause` has found, as a run's directory keeps them: a file for each outcome."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import msgspec

from actors.core.errors import run_directory_error
from actors.core.files import NotJsonError, read_json, refuse_links, write_json
from actors.studies.causes.record import Causes

CAUSES = "causes"  # the directory of these files, in the run's directory


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    found: tuple[Causes, ...]  # the causes of each outcome, in the order of the files' names
    problems: tuple[str, ...] = ()  # the files that cannot be read, each with the reason


def keep(path: Path, found: Causes) -> Path:
    """Write the causes of an outcome beside a run's other files, in place of earlier ones; return the file.

    A search without groups keeps the shares of groups that an earlier search has found in the same ticks; a search for
    groups alone keeps the earlier causes. The file names the run by its directory's name alone, because it goes with
    the run to other machines.
    """
    file = path / CAUSES / f"{quote(found.of.replace(':', '-'), safe='')}.json"
    try:
        refuse_links(path)
        file.parent.mkdir(exist_ok=True)
    except OSError as error:
        raise run_directory_error(error, f"{error.filename or file}: cannot be written") from None
    write_json(file, msgspec.structs.replace(_with_earlier(found, file), run=path.resolve().name))
    return file


def kept_causes(path: Path) -> Kept:
    found, problems = [], []
    for file in sorted((path / CAUSES).glob("*.json")):
        try:
            found.append(read_json(file, Causes))
        except NotJsonError as error:
            problems.append(f"{CAUSES}/{file.name}: is no file of prism cause: {error.problem}")
        except OSError as error:
            problems.append(f"{CAUSES}/{file.name}: cannot be read: {error.strerror or error}")
    return Kept(found=tuple(found), problems=tuple(problems))


def _with_earlier(found: Causes, file: Path) -> Causes:
    """Return causes, completed by the parts that this search has not looked for and an earlier one has found."""
    try:
        earlier = read_json(file, Causes)
    except OSError:
        return found
    if (earlier.ticks, earlier.value, earlier.since) != (found.ticks, found.value, found.since):
        return found
    missing = [*([] if found.tried else _TRIED), *([] if found.groups else _GROUPS)]
    return msgspec.structs.replace(found, **{name: getattr(earlier, name) for name in missing})


_TRIED, _GROUPS = ("tried", "causes", "smaller"), ("attribute", "groups", "without_groups")
