"""The packages that draw the pictures of the page: they are optional."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from actors.core.extras import not_installed


def problem_of_drawing(what: str) -> Any:
    """Return an element that names the first package that is needed and missing; None if all are there."""
    for package, extra in (("scipy", "experiments"), ("matplotlib", "plots")):
        if find_spec(package) is None:
            return "section", {}, [("p", {"class": "quiet"}, [not_installed(f"{what} need {package}", extra)])]
    return None
