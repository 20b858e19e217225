"""igraph is imported late, and without the plotting libraries that may be installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from prism.social.ties.graph_library import PLOTTING_LIBRARIES

FAKE = "imported = True\n"


def run(script: str, where: Path) -> str:
    """What a process of its own prints that finds packages in `where` before all others."""
    path = f"import sys; sys.path.insert(0, {str(where)!r})\n"
    return subprocess.run([sys.executable, "-c", path + script], capture_output=True, text=True, check=True).stdout


@pytest.fixture
def plotting(tmp_path: Path) -> Path:
    """A directory with plotting libraries that take no time to import."""
    for name in PLOTTING_LIBRARIES:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(FAKE)
    (tmp_path / "matplotlib" / "pyplot.py").write_text(FAKE)
    return tmp_path


def test_igraph_is_imported_without_plotting_libraries_that_are_installed(plotting: Path) -> None:
    script = """
from prism.social.ties.graph_library import load_igraph
assert "igraph" not in sys.modules
finders = list(sys.meta_path)
assert load_igraph() is sys.modules["igraph"]
assert sys.meta_path == finders
print(sorted({"matplotlib", "plotly"} & set(sys.modules)))
import matplotlib.pyplot, plotly
print(matplotlib.imported, matplotlib.pyplot.imported, plotly.imported)
"""
    assert run(script, plotting) == "[]\nTrue True True\n"


def test_another_thread_may_import_them_meanwhile(plotting: Path) -> None:
    script = """
from concurrent.futures import ThreadPoolExecutor
from prism.social.ties.graph_library import _without_plotting
with ThreadPoolExecutor(1) as pool, _without_plotting():
    try:
        import plotly
    except ModuleNotFoundError as error:
        print(error.name)
    pool.submit(__import__, "matplotlib").result()
print("matplotlib" in sys.modules)
"""
    assert run(script, plotting) == "plotly\nTrue\n"
