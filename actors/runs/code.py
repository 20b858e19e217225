"""The code that decides a run, as a hash, which comments, docstrings, layout and Python's version do not change."""

from __future__ import annotations

import ast
import os
import platform
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from importlib.util import cache_from_source
from pathlib import Path

import prism
from actors.core.files import open_own
from actors.factory.own_code import sources_below, sources_of
from actors.store.manifest import Manifest
from prism.config import Config
from prism.config.yaml_text import read_document, without_lines

ROOMS = ("core", "factory", "oracle", "runtime")
"""The rooms of `actors` that, with `prism`, decide the content of a tick. The others keep it or show it."""

CHART_SUFFIX = ".yaml"
"""Charts decide a run, too."""

READ_BY_MODELS = frozenset({"prism/models/answers.py"})
"""Modules whose docstrings are data: they stand in the JSON schemas that a model reads."""

_UNREAD = frozenset({"ctx", "kind", "type_comment"})
"""Fields of syntax trees without a meaning of their own: `ctx` follows from the place, `kind` is the u of u"text"."""

_KEPT = "code.sha256"


@cache
def code_sha256() -> str:
    """Return the SHA-256 over the syntax trees of `prism` and of the `ROOMS` of `actors`.

    Parsing takes about 0.35 s, and reading 10 ms. So the result is kept where Python keeps compiled files, with the
    hash of its sources. Where that directory cannot be written, every process computes it again.
    """
    sources, digest = deciding_sources(), sha256()
    for name, source in sources.items():
        digest.update(name.encode() + b"\0" + source + b"\0")
    of, kept = digest.hexdigest(), Path(cache_from_source(__file__)).with_name(_KEPT)
    with suppress(OSError, ValueError):
        known, found = kept.read_text(encoding="ascii").split()
        if known == of:
            return found
    found, draft = tree_sha256(sources), kept.with_name(f"{_KEPT}.{os.getpid()}")
    with suppress(OSError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(open_own(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w", encoding="ascii") as file:
            file.write(f"{of} {found}\n")
        draft.replace(kept)
    return found


def deciding_sources() -> dict[str, bytes]:
    """Return `{file name: source}` of the code that decides a run, in order of name within each part."""
    package, rooms = Path(prism.__path__[0]), Path(__file__).parents[1]
    sources = dict(sources_below(package, package.parent))
    for room in ROOMS:
        sources |= sources_below(rooms / room, rooms.parent)
    return sources


@cache
def own_code_sha256(places: tuple[Path, ...]) -> str:
    """Return the SHA-256 over the syntax trees of a domain's own code; empty without any.

    A process reads it once, as it imports a module once: later edits do not run in this process.

    Args:
        places: the file of a module, or the directories of a package.
    """
    sources = sources_of(places)
    return tree_sha256(dict(sorted(sources.items()))) if sources else ""


def tree_sha256(sources: Mapping[str, bytes]) -> str:
    """Return the SHA-256 over the syntax trees of `{file name: source}`, in the order given.

    For a chart its data count, and for another file that is no Python, such as a template, its bytes.
    """
    digest = sha256()
    for name, source in sources.items():
        if name.endswith(CHART_SUFFIX):
            text = ascii(without_lines(read_document(source.decode(), name)))
        else:
            try:
                text = canonical(ast.parse(source), has_docstrings=name in READ_BY_MODELS)
            except (SyntaxError, ValueError):
                text = sha256(source).hexdigest()
        digest.update(f"{name}\0{text}\0".encode())
    return digest.hexdigest()


def canonical(tree: ast.AST, *, has_docstrings: bool = False) -> str:
    """Return a syntax tree as a text in ASCII that is the same in every version of Python.

    `ast.dump` is not: the nodes of later versions have more fields, which are empty in code that an earlier version
    reads, and it writes empty fields in some versions only. Constants of an f-string may come in several pieces.

    Args:
        has_docstrings: keep statements that are nothing but a text.
    """
    pieces: list[str] = []
    _write(tree, pieces.append, has_docstrings=has_docstrings)
    return "".join(pieces)


def _write(node: object, add: Callable[[str], None], *, has_docstrings: bool) -> None:
    if isinstance(node, ast.AST):
        add(f"{type(node).__name__}(")
        for field in node._fields:
            value = getattr(node, field, None)
            if value is None or field in _UNREAD or (isinstance(value, list) and not value):
                continue
            if isinstance(node, ast.JoinedStr):  # neighbouring constants are made one, and empty ones left out
                joined: list[ast.expr] = []
                for part in value:
                    if not (isinstance(part, ast.Constant) and isinstance(part.value, str)):
                        joined.append(part)
                    elif joined and isinstance(before := joined[-1], ast.Constant):
                        joined[-1] = ast.Constant(str(before.value) + part.value)
                    elif part.value:
                        joined.append(part)
                value = joined
            add(f"{field}=")
            _write(value, add, has_docstrings=has_docstrings)
        add(")")
    elif isinstance(node, list):
        add("[")
        for item in node:
            is_constant = isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant)
            if has_docstrings or not (is_constant and isinstance(item.value.value, str)):  # also of an attribute
                _write(item, add, has_docstrings=has_docstrings)
        add("]")
    else:
        add(f"{node!a},")  # `repr` escapes the characters that a version of Python does not know


OWN_PACKAGE = "prism-sim"
PACKAGES = (OWN_PACKAGE, "anyio", "igraph", "msgspec", "numpy", "xxhash")
"""The packages whose versions could change a result."""


def manifest_of(config: Config, inputs: dict[str, str], domain_code: tuple[Path, ...] = ()) -> Manifest:
    """Return the manifest of a new run in this process.

    Args:
        domain_code: the files and directories of the code of a domain of its own.
    """
    return Manifest(
        python=platform.python_version(),
        platform=platform.platform(),
        packages={package: version(package) for package in PACKAGES},
        code=code_sha256(),
        domain_code=own_code_sha256(domain_code),
        seed=config.simulation.seed,
        inputs=inputs,
    )
