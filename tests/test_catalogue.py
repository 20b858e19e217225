"""Catalogues: every case is tried, with what a test of its own would have."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.catalogue import catalogue


def test_every_case_is_tried_and_a_failing_one_is_named() -> None:
    tried = []

    @catalogue(("number", "letter"), [(1, "a"), (2, "b"), (3, "c")])
    def check(number: int, letter: str) -> None:
        tried.append(letter)
        assert number < 3

    with pytest.raises(AssertionError) as raised:
        check()
    assert tried == ["a", "b", "c"]
    assert raised.value.__notes__ == ["in case 2: {'number': 3, 'letter': 'c'}"]


def test_a_catalogue_without_cases_is_refused() -> None:
    with pytest.raises(AssertionError, match="no cases"):
        catalogue("number", [])


@catalogue("name", ["first", "second"])
def test_every_case_has_a_directory_and_patches_of_its_own(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not any(tmp_path.iterdir())
    assert not hasattr(pytest, "planted")
    (tmp_path / name).touch()
    monkeypatch.setattr(pytest, "planted", name, raising=False)


@catalogue("letter", "ab")
@catalogue("number", [1, 2])
async def test_catalogues_multiply_and_may_be_coroutines(letter: str, number: int) -> None:
    assert letter * number in {"a", "aa", "b", "bb"}
