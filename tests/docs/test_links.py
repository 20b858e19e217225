"""Every link in the documentation leads somewhere, and so does every mention of a page in the code."""

from __future__ import annotations

import re
from pathlib import Path

from tests.catalogue import catalogue
from tests.docs.pages import PAGES, anchors, links, name
from tests.paths import ROOT

MENTION = re.compile(r"\bdocs/[\w./-]+\.md(?:#[\w-]+)?")
FOREIGN = {"docs/api.md"}
"""Pages of other projects, which are sources of the test server."""
SOURCES = ("actors", "prism", "benchmarks", "deploy", "configs", "tests")
KINDS = {".py", ".sh", ".yaml", ".yml", ".json", ".md"}


def is_broken(target: str, directory: Path, own_anchors: set[str]) -> bool:
    path, _, anchor = target.partition("#")
    if not path:
        return anchor not in own_anchors
    file = (directory / path).resolve()
    return not file.exists() or bool(anchor and anchor not in anchors(file))


@catalogue("page", PAGES)
def test_every_relative_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    relative = [target for target in links(page) if "://" not in target]
    assert [target for target in relative if is_broken(target, page.parent, anchors(page))] == []


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached:
            continue
        reached.add(page)
        targets = [(page.parent / target.partition("#")[0]).resolve() for target in links(page) if "://" not in target]
        for target in targets:
            waiting += target.glob("*.md") if target.is_dir() else [target] if target.suffix == ".md" else []
    assert sorted(map(name, set(PAGES) - reached)) == []


def test_every_page_that_the_code_mentions_exists_with_its_heading() -> None:
    files = [file for source in SOURCES for file in (ROOT / source).rglob("*") if file.suffix in KINDS]
    mentioned = {
        (name(file), target)
        for file in [*files, ROOT / "Makefile", ROOT / "pyproject.toml"]
        for target in MENTION.findall(file.read_text(encoding="utf-8"))
    }
    assert len(mentioned) > 20
    ours = sorted((file, target) for file, target in mentioned if target not in FOREIGN)
    assert [(file, target) for file, target in ours if is_broken(target, ROOT, set())] == []
