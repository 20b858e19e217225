"""`prism verify`: whether settings and input files are still those with which the run began."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.store.manifest import CONFIG, MANIFEST
from tests.actors.cli.verify.files import edit, lines
from tests.actors.cli.verify.kinds import forced, forked, with_inputs
from tests.command import Prism


def test_an_accepted_setting_is_named_and_no_damage(prism: Prism) -> None:
    forced(prism)
    told = "ok: the settings of the journal's header, except llm.model, changed with --accept-settings"
    assert f"made/{CONFIG}: {told}\n" in prism("verify", "made").out


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("algorithm: interest", "algorithm: hot", 'feed.algorithm is "hot", was "interest" when the run began'),
        ("  model: ", "  model: x", 'llm.model is "xllama3.2", was "llama3.2" when the run began'),
        ("seed: 5", "seed: 6", "simulation.seed is 6, was 5 when the run began"),
        ("  ticks: null", "  ticks: 71", "ends the run after 71 ticks, and the journal has 72"),
    ],
)
def test_a_setting_that_is_not_the_headers_is_named(
    before: str, after: str, told: str, run: Path, prism: Prism
) -> None:
    edit(run / CONFIG, before, after)
    ended = prism("verify", "run")
    assert ended.code == 1
    assert lines(ended.out)[CONFIG] == f"BAD: {told}"
    assert ended.out.count("BAD") == 1


def test_a_manifest_that_says_something_else_is_told(run: Path, prism: Prism) -> None:
    edit(run / MANIFEST, '"oracle": "embedded', '"oracle": "imbedded')
    told = lines(prism("verify", "run").out)
    assert told[MANIFEST] == "BAD: is not what the run has written: its seal is that of another content"
    resumed = prism("resume", "run", "-q")
    assert resumed.code == 0
    assert resumed.err.startswith(f"prism: {MANIFEST}: is not what the run has written; what it says of the run's past")
    assert prism("verify", "run").code == 0


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"1 2\n2 3\n3 1\n1 3\n", "is not what the run has kept (sha256 "),
        (None, "is missing"),
    ],
)
def test_an_input_file_that_is_another_is_named(content: bytes | None, told: str, prism: Prism) -> None:
    with_inputs(prism)
    (kept,) = Path("made", "inputs").glob("*/ties.txt")
    kept.unlink()
    if content is not None:
        kept.write_bytes(content)
    ended = prism("verify", "made")
    assert ended.code == 1
    assert f"\n{kept}: BAD: {told}" in ended.out
    assert ended.out.count("BAD") == 1


@pytest.mark.slow
def test_a_configuration_of_the_past_that_cannot_be_read_is_named(prism: Prism) -> None:
    forked(prism)
    Path("made/config-until-24.yaml").unlink()
    assert "made/config-until-24.yaml: BAD: cannot be read: " in prism("verify", "made").out
