"""Catalogues: one test that tries a function on every case of a list."""

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


def catalogue(names: str | Sequence[str], cases: Iterable[Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Call a test with every case, in one test of pytest: `@catalogue(("given", "expected"), [(1, 2), (3, 4)])`.

    A case that fails is named in a note to its error. Every case has a directory, patches and captured output of its
    own. A catalogue without cases fails, because it would prove nothing.
    """
    keys = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    listed = list(cases)
    assert listed, f"no cases for {keys}"

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.iscoroutinefunction(test):

            async def run_all_async(**fixtures: Any) -> None:
                for case in enumerate(listed):
                    with prepared(case, keys, fixtures) as arguments:
                        await test(**arguments)

            every = run_all_async
        else:

            def run_all(**fixtures: Any) -> None:
                for case in enumerate(listed):
                    with prepared(case, keys, fixtures) as arguments:
                        test(**arguments)

            every = run_all  # type: ignore[assignment]  # the other kind of function
        signature = inspect.signature(test)
        kept = [parameter for name, parameter in signature.parameters.items() if name not in keys]
        every.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]  # pytest reads it
        for name in ("__name__", "__qualname__", "__module__", "__doc__"):
            setattr(every, name, getattr(test, name))
        every.pytestmark = list(getattr(test, "pytestmark", []))  # type: ignore[attr-defined]  # markers below this one
        return every

    return decorate


@contextmanager
def prepared(case: tuple[int, Any], keys: Collection[str], fixtures: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the arguments of one case, and name the case in the note of an error."""
    index, values = case
    values = getattr(values, "values", values) if type(values).__name__ == "ParameterSet" else values
    if len(keys) == 1 and type(case[1]).__name__ != "ParameterSet":
        values = (values,)
    arguments = {**fixtures, **dict(zip(keys, values, strict=True))}
    if isinstance(path := fixtures.get("tmp_path"), Path):
        (path / str(index)).mkdir()
        arguments["tmp_path"] = path / str(index)
    for name in ("capsys", "capfd"):
        if name in fixtures:
            fixtures[name].readouterr()
    for name in ("caplog", "logged"):
        if name in fixtures:
            fixtures[name].clear()
    try:
        if "monkeypatch" in fixtures:
            with fixtures["monkeypatch"].context() as arguments["monkeypatch"]:
                yield arguments
        else:
            yield arguments
    except (Exception, pytest.fail.Exception) as error:
        error.add_note(f"in case {index}: {dict(zip(keys, values, strict=True))}")
        raise
