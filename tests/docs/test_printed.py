"""The commands and the Python of the pages print what the pages say, in the shell, in a script and in a notebook."""

import json
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from socket import socket
from typing import Any

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

from tests.command import Prism, without_settings
from tests.docs.pages import Block, blocks
from tests.paths import ROOT
from tests.plain import plain_text

README, DOCS = ROOT / "README.md", ROOT / "docs"
TUTORIAL, TABLES, EXPERIMENTS = DOCS / "tutorial.md", DOCS / "tables.md", DOCS / "experiments.md"
Shell = Callable[[str], str]
"""Runs commands in the directory of a study, and returns what they print."""

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


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A directory that looks as one does after `make run`."""
    study = tmp_path / "study"
    (study / ".venv" / "bin").mkdir(parents=True)
    (study / ".venv" / "bin" / "activate").touch()
    return study


@pytest.fixture
def shell(tmp_path: Path, study: Path, compiled_cache: Path) -> Shell:
    """A shell whose `prism` is that of this project and compiles as a user's does, and whose `python` is this one."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for program, arguments in (("prism", " -m actors.cli"), ("python", ""), ("pytest", " -m pytest")):
        script = programs / program
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}"{arguments} "$@"\n')
        script.chmod(0o755)
    path, cache = f"{programs}:{os.environ['PATH']}", str(compiled_cache)
    own = {"PATH": path, "PYTHONPATH": str(ROOT), "COLUMNS": "80", "PRISM_JIT": "", "XDG_CACHE_HOME": cache}

    def run(commands: str) -> str:
        arguments = ["bash", "-euo", "pipefail", "-c", commands]
        environment = {**os.environ, **own}
        return subprocess.run(
            arguments, cwd=study, env=environment, stdout=subprocess.PIPE, text=True, check=True
        ).stdout

    return run


def missing(expected: str, printed: str) -> list[str]:
    """Return the first part between two `...` whose lines are not printed in a row, behind the part before."""
    lines, start = [line.rstrip() for line in printed.splitlines()], 0
    for part in expected.split("...\n"):
        wanted = [line.rstrip() for line in part.splitlines()]
        places = (at for at in range(start, len(lines) + 1) if lines[at : at + len(wanted)] == wanted)
        at = next(places, None)
        if at is None:
            return wanted
        start = at + len(wanted)
    return []


def follow(page: Iterable[Block], study: Path, shell: Shell) -> tuple[str, int]:
    """Return all that the commands have printed, and how many outputs were compared.

    A block with a file's name is written there; a block of output belongs to the commands before it.
    """
    printed, everything, compared = "", "", 0
    for block in page:
        kind, *file = block.info.split()
        if file:
            (study / file[0]).write_text(block.text)
        elif kind == "sh":
            printed = shell(block.text)
            everything += printed
        elif kind == "text":
            assert missing(block.text, printed) == []
            compared += 1
    return everything, compared


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("heading", "outputs", "file", "text"),
    [
        ("Does a chronological feed make smaller cascades?", 9, "report.html", "<!DOCTYPE html>"),
        ("A behaviour of your own", 5, "chart.svg", "<svg"),
        ("Opinions over time", 5, "report.html", "bimodality"),
    ],
)
def test_a_lesson_prints_what_it_says(
    heading: str, outputs: int, file: str, text: str, study: Path, shell: Shell
) -> None:
    assert follow(blocks(TUTORIAL, heading), study, shell)[1] == outputs
    assert text in (study / file).read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_readme_prints_what_it_says(study: Path, shell: Shell) -> None:
    _, excerpt, *page = [block for block in blocks(README) if block.info in {"sh", "text"}]
    everything, compared = follow(page, study, shell)
    assert missing(excerpt.text, everything) == []
    assert compared == 1


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_page_of_experiments_prints_what_it_says(study: Path, shell: Shell) -> None:
    """The page wraps long lines elsewhere than the command, so words are compared."""
    (study / "configs").symlink_to(ROOT / "configs")
    shell("prism init my-study")
    (file,) = [block for block in blocks(EXPERIMENTS) if block.info == "yaml my-study/matters.yaml"]
    (study / "my-study" / "matters.yaml").write_text(file.text)
    commands, shown, others, answer = [block for block in blocks(EXPERIMENTS) if block.info in {"sh", "text"}][:4]
    for run, text in ((commands, shown), (others, answer)):
        printed = " ".join(shell(run.text).split())
        for part in text.text.split("..."):
            assert " ".join(part.split()) in printed


@pytest.mark.slow
def test_the_commands_of_the_page_on_causes_run(study: Path, shell: Shell) -> None:
    found = [block.text for block in blocks(DOCS / "cause.md", "Explanations") if block.info == "sh"]
    made, path, turn, post, other = found
    shell(made)
    asked = re.findall(r"^ +(\d+)  decides .* asks the oracle$", shell(path), re.MULTILINE)
    assert turn.split("--tick ")[1].split()[0] in asked, "the page explains a question; take another tick"
    assert ": decides in evaluating, since " in shell(turn)
    assert "engaging_reshare instead of engaging_like" in shell(other)
    largest = json.loads((study / "runs" / "small" / "summary.json").read_text())["largest_cascade"]
    assert f"--post {largest['root_post']}\n" in post, "the page shows the largest cascade"
    assert shell(post).startswith(f"post {largest['root_post']}: {largest['size']} posts, ")


@pytest.mark.slow
def test_the_example_of_the_page_of_audits_runs_as_it_is_pasted(study: Path, shell: Shell) -> None:
    (example,) = [block.text for block in blocks(DOCS / "audit.md") if "prism testing serve" in block.text]
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    assert "We audited the study with PRISM." in shell(example.replace("11500", port))
    assert (study / "runs" / "asked" / "audit" / "audit.json").exists()


@pytest.mark.slow
def test_the_test_on_the_page_of_models_passes(study: Path, shell: Shell) -> None:
    shell("prism init --example ollama")
    files = [block for block in blocks(DOCS / "language-models.md") if block.info.startswith("python ")]
    for block in files:
        (study / block.info.split()[1]).write_text(block.text)
    names = " ".join(block.info.split()[1] for block in files)
    assert "1 passed" in shell(f"pytest -q -p no:cacheprovider {names}")


def printed(codes: list[str], directory: Path) -> list[str]:
    """Return what each block prints, in one process in this directory; a warning is an error."""
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", RUN_ALL],
        cwd=directory,
        env={**without_settings(), "PYTHONPATH": str(ROOT)},
        input=json.dumps(codes),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    lines: list[str] = json.loads(ended.stdout)
    return lines


def examples(page: Path, heading: str | None = None) -> list[tuple[str, str | None]]:
    """Return the blocks of Python of a page or a section, each with what the page says that it prints."""
    found = blocks(page, heading)
    pairs = zip(found, [*found[1:], None], strict=True)
    return [
        (block.text, after.text if after is not None and after.info == "text" else None)
        for block, after in pairs
        if block.info == "python"
    ]


def is_for_notebooks(code: str) -> bool:
    """Return whether a block awaits outside of a function, or goes on from the cell before."""
    return "import " not in code or re.search(r"^(?!\s).*\bawait\b", code, re.MULTILINE) is not None


def test_the_scripts_of_the_readme_run(tmp_path: Path) -> None:
    codes = [code for code, _ in examples(README) if not is_for_notebooks(code)]
    assert any("from actors import run\n" in code for code in codes)
    assert re.fullmatch(r"(done \d+ [0-9a-f]{32}\n)+", "".join(printed(codes, tmp_path)))


@pytest.mark.slow
def test_the_scripts_of_the_page_of_tables_print_what_it_says(tmp_path: Path) -> None:
    given = [each for each in examples(TABLES, "Python") if not is_for_notebooks(each[0])]
    assert len(given) >= 7
    assert printed([code for code, _ in given], tmp_path) == [output or "" for _, output in given]


@pytest.mark.slow
def test_a_question_has_the_answer_that_the_page_of_tables_says(study: Path, shell: Shell) -> None:
    page = blocks(TABLES, "Ask questions")
    told = "".join(shell(block.text) for block in page if block.info == "sh")
    (code,) = [block.text for block in page if block.info == "python"]
    (answer,) = [block.text for block in page if block.info == "text"]
    assert printed([code], study) == [answer]
    assert re.search("│ study +│", told)


@pytest.mark.slow
def test_the_page_of_domains_prints_what_it_says(study: Path, shell: Shell) -> None:
    text = (DOCS / "domains.md").read_text(encoding="utf-8")
    own = text.partition("\n## A domain of your own\n")[2]
    for name, language in (("bar.py", "python"), ("bar.yaml", "yaml")):
        (study / name).write_text(own.split(f"```{language}\n")[1].split("```")[0])
    given = [(code, output) for code, output in examples(DOCS / "domains.md") if output is not None]
    assert len(given) == text.count("```python\n") - 1  # bar.py is run by the others
    assert printed([code for code, _ in given], study) == [output for _, output in given]
    console = next(block.text for block in blocks(DOCS / "domains.md") if "$ prism validate bar.yaml" in block.text)
    commands = [line.removeprefix("$ ") for line in console.splitlines() if line.startswith("$ ")]
    assert "".join(f"$ {each}\n{shell(f'{each} 2>&1 || true')}" for each in commands) == console


def executed(codes: Iterable[str], directory: Path) -> Any:
    """Return a notebook of these cells after its execution."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in codes])
    NotebookClient(notebook, kernel_name="python3", resources={"metadata": {"path": str(directory)}}).execute()
    return notebook


@pytest.mark.slow
def test_the_notebook_lines_run_in_a_real_kernel(tmp_path: Path) -> None:
    codes = [code for code, _ in examples(TABLES, "Python") if is_for_notebooks(code)]
    assert any("await run_async(" in code for code in codes)
    check = "from actors import RunResult\nassert isinstance(result, RunResult) and result.is_done, result\nresult"
    notebook = executed([*codes, check], tmp_path)
    first, last = notebook.cells[0].outputs, notebook.cells[-1].outputs
    (shown,) = [output["data"]["text/html"] for output in first if output["output_type"] == "display_data"]
    assert "(100%)" in shown  # drawn anew in its place
    assert "<td>done</td>" in last[0]["data"]["text/html"]
    assert last[0]["data"]["text/plain"].startswith("<RunResult: status done, agents ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs", "sizes.pdf"]
    assert "vega-embed" in notebook.cells[2].outputs[-1]["data"]["text/html"]


@pytest.mark.slow
@pytest.mark.parametrize("page", [TABLES, DOCS / "language-models.md"], ids=["tables.md", "language-models.md"])
def test_every_block_that_runs_something_runs_in_a_notebook_with_await_in_it(page: Path, tmp_path: Path) -> None:
    """But for the one with processes: these have no loop, and call `run` itself."""
    given = [
        (code, output)
        for code, output in examples(page, "Python" if page == TABLES else None)
        if re.search(r"(?<![\w.])run\(", code) and "ProcessPool" not in code and not is_for_notebooks(code)
    ]
    assert given

    def awaited(found: re.Match[str]) -> str:
        return f"{'await ' if found[2] == '(' else ''}{found[1]}_async{found[2]}"

    codes = [re.sub(r"(?<![\w.])(run|resume)(\(|,|$)", awaited, code, flags=re.MULTILINE) for code, _ in given]
    for (_, output), cell in zip(given, executed(codes, tmp_path).cells, strict=True):
        told = "".join(each.get("text", "") for each in cell.outputs if each.get("name") == "stdout")
        assert output in (None, told)


SCRIPT = ROOT / "docs" / "scorecard.py"
SEEDS = (4, 5)
CONFIG = plain_text("""
simulation: {rounds: 12, ticks_per_round: 12, tick_seconds: 900}
population: {size: 80, posts_per_session: 0.4, activity: {mean: 0.9, sigma: 0.4}, engagement_threshold: 0.4}
feed: {horizon_rounds: 2}
""")


def real_cascades() -> str:
    """Return trees of 2 to 30 posts, twelve of each size and each post below a random one, as a file."""
    random, lines = np.random.default_rng(6), ["cascade,node,parent,delay_minutes"]
    for size in range(2, 31):
        for copy in range(12):
            parents = [-1, *(int(random.integers(node)) for node in range(1, size))]
            minutes = np.cumsum(random.exponential(40.0, size=size)).round(2)
            rows = zip(range(size), parents, minutes, strict=True)
            lines += [f"{size}-{copy},{node},{parent},{minute}" for node, parent, minute in rows]
    return "\n".join(lines) + "\n"


@pytest.mark.slow
def test_the_script_and_the_command_have_the_same_numbers(
    prism: Prism, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*arguments: str) -> str:
        ended = prism(*arguments)
        assert ended.code == 0
        return ended.out

    Path("run.yaml").write_text(CONFIG)
    Path("real.csv").write_text(real_cascades())
    names = [f"run-{seed}" for seed in SEEDS]
    for seed, name in zip(SEEDS, names, strict=True):
        seeded = f"simulation.seed={seed}"
        run("run", "run.yaml", "--set", seeded, "--out", name, "--quiet")
    tables = ["--to", "csv", "--out", "tables", "--tables", "runs,agents,posts,rounds"]
    run("export", *names, *tables)
    printed = run("validate-world", *names, "--against", "real.csv", "--json")
    ours = {fact["name"]: fact for fact in json.loads(printed)["facts"]}
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), "tables", "real.csv"])
    runpy.run_path(str(SCRIPT), run_name="__main__")
    theirs = json.loads(capsys.readouterr().out)

    assert theirs.pop("cascades") >= 30
    assert f"(as many as {theirs.pop('count as'):.0f} of equal weights)" in ours["depth"]["note"]
    assert set(theirs) == set(ours)
    for name, found in theirs.items():
        told = found if isinstance(found, dict) else {"run": found}
        assert told["run"] == pytest.approx(ours[name]["simulated"], abs=1e-6), name
        assert told.get("distance") == pytest.approx(ours[name]["distance"], abs=1e-9), name
        assert "real" not in told or told["real"] == pytest.approx(ours[name]["real"], abs=1e-9), name
