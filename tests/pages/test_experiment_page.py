"""The report of an experiment in a real browser: whole at every width and in every theme, with hostile names."""

from pathlib import Path

import pytest

from actors.pages.experiment_report import experiment_report
from actors.studies.experiments.record import read_experiment_record
from tests.actors.studies.experiments.written import write_experiment_directory
from tests.browser import NARROW, WIDE, Browser, Scheme, browser, chromium
from tests.hostile_texts import MARKUP, TEXTS
from tests.pages.test_report_page import FAULTS, SMALL

__all__ = ["browser", "chromium"]

pytestmark = pytest.mark.slow

LEVELS = [1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the page of a list with hostile names, and of a design with many levels that is going on."""
    place = tmp_path_factory.mktemp("experiments")
    names = [MARKUP["script"], TEXTS["right_to_left_override"], TEXTS["wide"], "a condition " * 12]
    hostile = write_experiment_directory(
        place / "hostile",
        conditions={name: {"feed.topic": name} for name in names},
        measures={MARKUP["end_of_attribute"]: "likes", "likes": "likes"},
        hypotheses=[
            {"measure": MARKUP["end_of_attribute"], "contrast": names[:2]},
            {"measure": "likes", "contrast": names[1:3], "test": "equivalence", "margin": 30},
        ],
        question="\n".join(MARKUP.values())[:900],
        has_factors=False,
    )
    factors = write_experiment_directory(
        place / "factors",
        conditions={f"size={size} algorithm=hot": {"feed.size": size, "feed.algorithm": "hot"} for size in LEVELS},
        hypotheses=[
            {"measure": "likes", "contrast": [f"size={size} algorithm=hot", "size=1 algorithm=hot"]}
            for size in LEVELS[1:]
        ],
        done=8 * len(LEVELS) - 5,
        cells_done=3,
    )
    for path in (hostile, factors):
        html = experiment_report(read_experiment_record(path))
        (place / f"{path.name}.html").write_text(html, encoding="utf-8")
    return place


@pytest.mark.parametrize("name", ["hostile", "factors"])
@pytest.mark.parametrize(("width", "scheme"), [(WIDE, "light"), (NARROW, "dark")])
def test_a_report_is_whole_at_every_width_and_in_every_theme(
    pages: Path, browser: Browser, name: str, width: int, scheme: Scheme
) -> None:
    url = (pages / f"{name}.html").as_uri()
    visit = browser.open(url, width=width, scheme=scheme)
    assert visit.problems() == []
    assert visit.requests == [url]
    assert visit.page.evaluate(FAULTS) == []
    assert visit.violations() == []
    assert visit.page.evaluate(SMALL) == []
    assert visit.tables_cut() == []
    assert visit.page.evaluate("() => window.harmed") is None
