"""The Python of README.md and docs/tables.md runs as it stands: scripts in a process, notebook lines in a real kernel.

`python -m tests.docs.test_python` writes what the blocks of docs/tables.md print now into it.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import nbformat
import pytest
from jupyter_client.manager import start_new_kernel
from nbclient import NotebookClient

import actors
import prism
from tests.command import without_settings
from tests.docs.pages import blocks, read
from tests.paths import ROOT

README, PAGE = ROOT / "README.md", ROOT / "docs" / "tables.md"
ASK = ROOT / "docs" / "language-models.md"

RUN_ALL = """
import contextlib, io, json, sys
printed = []
for code in json.load(sys.stdin):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "<block>", "exec"), {"__name__": "__main__"})
    printed.append(out.getvalue())
json.dump(printed, sys.stdout)
"""
"""Runs each block with names of its own, and prints what each has printed."""


class Example(NamedTuple):
    """A block of Python, and what the page says it prints."""

    code: str
    output: str | None

    @property
    def is_for_notebooks(self) -> bool:
        """Whether only a notebook can run it: it awaits outside of a function, or goes on from the cell before."""
        goes_on = "import " not in self.code
        return goes_on or re.search(r"^(?!\s).*\bawait\b", self.code, re.MULTILINE) is not None

    @property
    def awaited(self) -> str:
        """The block as the page says that a notebook has it."""
        return re.sub(r"(?<![\w.])(run|resume)(\(|,|$)", _awaited, self.code, flags=re.MULTILINE)


def _awaited(found: re.Match[str]) -> str:
    called = found[2] == "("
    return f"{'await ' if called else ''}{found[1]}_async{found[2]}"


def examples(page: Path, heading: str | None = None) -> list[Example]:
    """The blocks of a page, or of one of its sections; a text belongs to the block before it."""
    found = blocks(page, heading or ("Python" if page == PAGE else None))
    followed = zip(found, [*found[1:], None], strict=True)
    return [
        Example(block.text, after.text if after is not None and after.info == "text" else None)
        for block, after in followed
        if block.info == "python"
    ]


def scripts(page: Path) -> list[Example]:
    """The blocks that a script can have."""
    return [example for example in examples(page) if not example.is_for_notebooks]


def printed(codes: list[str], directory: Path) -> list[str]:
    """What each block prints, in one process in this directory; a warning is an error."""
    environment = without_settings()
    environment["PYTHONPATH"] = str(ROOT)
    command = [sys.executable, "-W", "error", "-c", RUN_ALL]
    ended = subprocess.run(
        command, cwd=directory, env=environment, input=json.dumps(codes), stdout=subprocess.PIPE, text=True, check=True
    )
    lines: list[str] = json.loads(ended.stdout)
    return lines


@pytest.mark.slow
def test_the_blocks_of_the_page_print_what_it_says(tmp_path: Path) -> None:
    given = scripts(PAGE)
    assert len(given) >= 7
    assert printed([example.code for example in given], tmp_path) == [example.output or "" for example in given]


def test_the_scripts_of_the_readme_run(tmp_path: Path) -> None:
    given = scripts(README)
    assert [example.code for example in given if "from actors import run\n" in example.code]
    assert re.fullmatch(r"(done \d+ [0-9a-f]{32}\n)+", "".join(printed([example.code for example in given], tmp_path)))


@pytest.mark.slow
def test_the_notebook_lines_run_in_a_real_kernel(tmp_path: Path) -> None:
    given = [example for example in examples(PAGE) if example.is_for_notebooks]
    assert [example.code for example in given if "await run_async(" in example.code]
    cells = [nbformat.v4.new_code_cell(example.code) for example in given]
    check = "from actors import RunResult\nassert isinstance(result, RunResult) and result.is_done, result\nresult"
    notebook = nbformat.v4.new_notebook(cells=[*cells, nbformat.v4.new_code_cell(check)])
    NotebookClient(notebook, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    first, last = notebook.cells[0].outputs, notebook.cells[-1].outputs
    assert 'value="' in shown(first)["text/html"]  # the bar, drawn anew in its place
    assert "100%" in shown(first)["text/html"]
    assert "<td>done</td>" in last[0]["data"]["text/html"]
    assert last[0]["data"]["text/plain"].startswith("<RunResult: status done, agents ")
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]
    assert "image/png" in notebook.cells[2].outputs[-1]["data"]


@pytest.mark.slow
@pytest.mark.parametrize("page", [PAGE, ASK], ids=["tables.md", "language-models.md"])
def test_every_block_that_runs_something_runs_in_a_notebook_with_await_in_it(page: Path, tmp_path: Path) -> None:
    """But for the one with processes: these have no loop, and call `run` itself."""
    given = [
        each for each in scripts(page) if re.search(r"(?<![\w.])run\(", each.code) and "ProcessPool" not in each.code
    ]
    assert given
    cells = [nbformat.v4.new_code_cell(each.awaited) for each in given]
    notebook = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(notebook, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    for example, cell in zip(given, notebook.cells, strict=True):
        told = "".join(output.get("text", "") for output in cell.outputs if output.get("name") == "stdout")
        assert example.output in (None, told)


def shown(outputs: list[Any]) -> dict[str, str]:
    """The first display among the outputs of a cell."""
    data: dict[str, str] = next(output["data"] for output in outputs if output["output_type"] == "display_data")
    return data


class Kernel:
    """A kernel that runs code, and can be interrupted as the button of a notebook does it."""

    def __init__(self) -> None:
        self._manager, self._client = start_new_kernel(kernel_name="python3")
        self.streams = ""
        """All that the kernel has written, also of what belongs to no cell, such as a handler of signals."""

    def run(self, code: str, *, interrupt_at: str | None = None) -> str:
        """What the code has printed, and its error, once it has ended. A busy kernel sends a line in several messages.

        Args:
            interrupt_at: interrupt the kernel as soon as this is printed.
        """
        printed = ""
        for content in self._messages(self._client.execute(code)):
            if "text" in content:
                printed += content["text"]
            if "ename" in content:
                printed += f"{content['ename']}: {content['evalue']}"
            if interrupt_at is not None and interrupt_at in printed:
                self._manager.interrupt_kernel()
                interrupt_at = None
        return printed

    def close(self) -> None:
        """End it."""
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)

    def _messages(self, request: str) -> Iterator[dict[str, Any]]:
        while True:
            message = self._client.get_iopub_msg(timeout=120)
            self.streams += message["content"].get("text", "")
            if message["parent_header"].get("msg_id") != request:
                continue
            if message["content"].get("execution_state") == "idle":
                return
            yield message["content"]


@pytest.fixture
def kernel() -> Iterator[Kernel]:
    """A real kernel."""
    kernel = Kernel()
    yield kernel
    kernel.close()


@pytest.mark.slow
def test_an_interrupted_kernel_has_the_result_so_far_and_goes_on(kernel: Kernel) -> None:
    begin = """
from actors import resume, run, run_async
from prism import Config

def tell(progress):
    if progress.tick > 5:
        print("under way", flush=True)

config = Config(population={"size": 60}, simulation={"rounds": 100_000})
"""
    assert kernel.run(begin) == ""
    refused = kernel.run("run(config)")
    assert refused.startswith("RunningLoopError: run() cannot be called inside a running event loop")
    kernel.run("long = await run_async(config, progress=tell)", interrupt_at="under way")
    assert kernel.run("print(long.summary.stopped_by, long.summary.ticks > 5)") == "SIGINT True\n"
    cancelled = kernel.run("import asyncio\nawait asyncio.wait_for(run_async(config), 0.3)")
    assert cancelled.startswith("TimeoutError")
    again = kernel.run("short = await run_async(config, ticks=long.summary.ticks)\nprint(short.digest == long.digest)")
    assert again == "True\n"
    assert "prism: SIGINT: finishing this tick" in kernel.streams


@pytest.mark.parametrize("door", [prism, actors], ids=lambda door: door.__name__)
def test_every_public_name_is_in_the_page(door: Any) -> None:
    names = {name for name in door.__all__ if not name.endswith("Config") or name == "Config"}
    text = read(PAGE)
    assert [name for name in sorted(names) if not re.search(rf"\b{name}\b", text)] == []


if __name__ == "__main__":
    with TemporaryDirectory() as directory:
        page = read(PAGE)
        given = scripts(PAGE)
        for example, output in zip(given, printed([each.code for each in given], Path(directory)), strict=True):
            page = page.replace(
                f"{example.code}```\n\n```text\n{example.output}", f"{example.code}```\n\n```text\n{output}"
            )
        PAGE.write_text(page, encoding="utf-8")
