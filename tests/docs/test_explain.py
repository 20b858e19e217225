"""docs/cause.md: its commands run."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.docs.pages import blocks
from tests.docs.test_tutorial import Shell, shell, study
from tests.paths import ROOT

__all__ = ["shell", "study"]


PAGE = ROOT / "docs" / "cause.md"


@pytest.mark.slow
def test_the_commands_of_the_page_run(shell: Shell, study: Path) -> None:
    made, path, turn, tie, post, other = (block.text for block in blocks(PAGE, "Explanations") if block.info == "sh")
    shell(made)
    asked = re.findall(r"^ +(\d+)  decides .* asks the oracle$", shell(path), re.MULTILINE)
    assert re.search(r"--tick (\d+)", turn)[1] in asked, "the page explains a question; take another tick"  # type: ignore[index]
    assert ": decides in evaluating, since " in shell(turn)
    assert " of this tie in 72 ticks" in shell(tie)
    assert "engaging_reshare instead of engaging_like" in shell(other)
    largest = json.loads((study / "runs" / "small" / "summary.json").read_text())["largest_cascade"]
    assert f"--post {largest['root_post']}\n" in post, "the page shows the largest cascade"
    assert shell(post).startswith(f"post {largest['root_post']}: {largest['size']} posts, ")


def test_the_python_of_the_page_can_be_compiled() -> None:
    code = next(block.text for block in blocks(PAGE, "Explanations") if block.info == "python")
    names: dict[str, object] = {}
    exec(compile(code, str(PAGE), "exec"), names)
    assert callable(names["print_prompts"])
