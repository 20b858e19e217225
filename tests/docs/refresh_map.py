"""Writes the list of modules in CONTRIBUTING.md from their docstrings: `python -m tests.docs.refresh_map`."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.paths import ROOT

DOCUMENT = ROOT / "CONTRIBUTING.md"
BEGIN = (
    "<!-- modules: written by `python -m tests.docs.refresh_map` from the first lines of docstrings, "
    "do not edit below -->\n"
)
END = "<!-- modules: end -->"
ROOMS = (
    *(
        f"actors/{room}"
        for room in (
            "cli",
            "testing",
            "view",
            "pages",
            "calibration",
            "experiments",
            "gateway",
            "results",
            "runs",
            "display",
            "metrics",
        )
    ),
    *(f"actors/{room}" for room in ("runtime", "oracle")),
    *(f"actors/{room}" for room in ("persistence", "factory", "logs", "core")),
    *(
        "prism",
        "prism/statechart",
        "prism/drawing",
        "prism/expressions",
        "prism/agents",
        "prism/social",
        "prism/sharing",
        "prism/economy",
        "prism/scorecard",
        "prism/experiment",
        "prism/calibration",
    ),
    *("prism/validators", "prism/engines", "prism/llm", "prism/config"),
)
"""The rooms in the order in which the page lists them."""


def first_line(module: Path) -> str:
    """Return the first line of a module's docstring."""
    docstring = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
    return docstring.partition("\n")[0].replace("|", "\\|")


def modules_of(room: str) -> list[Path]:
    """Return the modules of a room, without the file that makes it a package."""
    return sorted(path for path in (ROOT / room).glob("*.py") if path.name != "__init__.py")


def section(room: str) -> str:
    """Return the heading of a room, the line about it, and the table of its modules."""
    rows = "".join(f"| `{path.name}` | {first_line(path)} |\n" for path in modules_of(room))
    return f"### {room}\n\n{first_line(ROOT / room / '__init__.py')}\n\n| module | holds |\n|---|---|\n{rows}\n"


def with_modules(text: str) -> str:
    """Return the page with the list of modules between its markers."""
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    assert begin, f"{DOCUMENT} has lost its marker {BEGIN}"
    assert end, f"{DOCUMENT} has lost its marker {END}"
    return f"{head}{begin}\n{''.join(map(section, ROOMS))}{end}{tail}"


if __name__ == "__main__":
    DOCUMENT.write_text(with_modules(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
