"""Every link, page, file, module, test, command and target that the documentation names exists."""

import importlib
import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import click

from actors.cli.app import cli
from actors.core.errors import RunDirectoryError
from actors.logs.output import output
from tests.docs.pages import PAGES, anchors, blocks, code, links, name, read
from tests.paths import ROOT

TREES = "actors|prism|benchmarks|deploy|tests|configs|docs"
FILE = re.compile(rf"(?<![\w./-])(?:{TREES})/[\w./@*-]+")
DOTTED = re.compile(r"(?<![\w./-])(?:actors|prism|benchmarks|deploy|tests)(?:\.[A-Za-z_]\w*)+")
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
TARGETS = re.compile(r"^make((?: [a-z][a-z-]*)+)", re.MULTILINE)
MENTION = re.compile(r"\bdocs/[\w./-]+\.md(?:#[\w-]+)?")
CURRENT = [page for page in PAGES if page.name != "CHANGELOG.md"]
"""A changelog also names what there was."""
NOT_MODULES = {"prism.yaml", "prism.yml", "prism.domains"}  # the last one is a group of entry points
FOREIGN = {"docs/api.md"}
"""Pages of other projects, which are sources of the test server."""
KINDS = {".py", ".sh", ".yaml", ".yml", ".json", ".md"}


def relative(page: Path) -> list[str]:
    return [target for target in links(page) if "://" not in target]


def is_broken(target: str, directory: Path, own_anchors: set[str]) -> bool:
    path, _, anchor = target.partition("#")
    if not path:
        return anchor not in own_anchors
    file = (directory / path).resolve()
    return not file.exists() or bool(anchor and anchor not in anchors(file))


def is_there(dotted: str) -> bool:
    """Return whether a dotted name is a module, or something in one."""
    parts = dotted.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for part in parts[count:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


def commands(page: Path) -> Iterator[str]:
    """Yield every line of the page's shell blocks that runs `prism`, its continuation lines joined."""
    for block in blocks(page):
        if block.info in {"sh", "console"}:
            lines = block.text.replace("\\\n", " ").splitlines()
            yield from (line for each in lines if (line := each.strip().removeprefix("$ ")).startswith("prism "))


def test_every_link_leads_to_a_file_and_a_heading_and_every_page_is_reached_from_the_readme() -> None:
    for page in PAGES:
        assert [each for each in relative(page) if is_broken(each, page.parent, anchors(page))] == [], name(page)
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached:
            continue
        reached.add(page)
        for target in ((page.parent / each.partition("#")[0]).resolve() for each in relative(page)):
            waiting += target.glob("*.md") if target.is_dir() else [target] if target.suffix == ".md" else []
    assert sorted(map(name, set(PAGES) - reached)) == []


def test_every_page_that_the_code_mentions_exists_with_its_heading() -> None:
    files = [file for tree in TREES.split("|") for file in (ROOT / tree).rglob("*") if file.suffix in KINDS]
    mentioned = {
        (name(file), target)
        for file in [*files, ROOT / "Makefile", ROOT / "pyproject.toml"]
        for target in MENTION.findall(file.read_text(encoding="utf-8"))
    }
    assert len(mentioned) > 20
    assert [each for each in sorted(mentioned) if each[1] not in FOREIGN and is_broken(each[1], ROOT, set())] == []


def test_every_file_module_test_and_target_that_is_named_exists() -> None:
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    lost = []
    for page in CURRENT:
        texts = [*code(page)]
        files = {match.rstrip(".") for text in texts for match in FILE.findall(text) if "NAME" not in match}
        lost += [file for file in files if not any(ROOT.glob(file.partition("::")[0].rstrip("/")))]
        dotted = {match for text in texts for match in DOTTED.findall(text)} - NOT_MODULES
        lost += [each for each in dotted if not is_there(each)]
        tests = {each for each in TEST.findall(read(page)) if (ROOT / each[0]).is_file()}
        lost += [test for file, test in tests if f"def {test}(" not in (ROOT / file).read_text(encoding="utf-8")]
        named = {target for text in texts for line in TARGETS.findall(text) for target in line.split()}
        lost += named - targets
        assert lost == [], name(page)


def test_every_prism_command_is_understood() -> None:
    for page in PAGES:
        for line in commands(page):
            command: click.Command | None = cli
            words = shlex.split(line.removesuffix("&"), comments=True)  # one may run in the background
            while isinstance(command, click.Group):
                found, command, rest = command.resolve_command(click.Context(command), words[1:])
                words = [found or "", *rest]
            assert command is not None, line
            with suppress(RunDirectoryError):  # the run of an example is not here
                command.make_context(words[0], words[1:]).close()
            output.reset()  # options such as --quiet have been taken
