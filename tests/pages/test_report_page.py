"""The report in a real browser: nothing is loaded, nothing overlaps, and it can be read by everybody."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.actors.studies.experiments.files import write_experiment_directory
from tests.browser import NARROW, WIDE, Browser, Scheme, browser, chromium
from tests.catalogue import catalogue
from tests.command import prism_alone
from tests.hostile_texts import MARKUP, TEXTS
from tests.paths import ROOT
from tests.plain import plain

__all__ = ["browser", "chromium"]

pytestmark = pytest.mark.slow

FAULTS = """
() => {
  const faults = [];
  for (const picture of document.querySelectorAll("svg")) {
    const name = picture.getAttribute("aria-labelledby"), frame = picture.getBoundingClientRect();
    const texts = [...picture.querySelectorAll("text")].filter((text) => text.textContent.trim());
    const boxes = texts.map((text) => [text.textContent, text.getBoundingClientRect()]);
    for (const [place, [one, box]] of boxes.entries()) {
      const beside = box.left < frame.left - 1 || box.right > frame.right + 1;
      if (beside || box.top < frame.top - 2 || box.bottom > frame.bottom + 2)
        faults.push(`${name}: cut off: ${one}`);
      for (const [other, near] of boxes.slice(place + 1)) {
        const across = Math.min(box.right, near.right) - Math.max(box.left, near.left);
        const down = Math.min(box.bottom, near.bottom) - Math.max(box.top, near.top);
        if (across > 1 && down > 3) faults.push(`${name}: overlap: ${one} and ${other}`);
      }
    }
  }
  return faults;
}
"""
"""The texts of pictures that overlap, or are cut off."""

SMALL = """() => {
  const letter = (text) => {
    const placed = text.getScreenCTM();
    return parseFloat(getComputedStyle(text).fontSize) * Math.hypot(placed.a, placed.b);
  };
  return [...document.querySelectorAll("svg text")].filter(
  (text) => text.textContent.trim() && letter(text) < 9.5
).map((text) => text.textContent);
}"""
"""The texts of pictures that are smaller than their 10 pixels, less a rounding."""

GAPS = """() => {
  const gaps = [];
  for (const grid of document.querySelectorAll(".charts")) {
    const { left, right } = grid.getBoundingClientRect();
    const rows = new Map();
    for (const card of grid.children) {
      const box = card.getBoundingClientRect();
      rows.set(Math.round(box.top), [...(rows.get(Math.round(box.top)) ?? []), box]);
    }
    for (const row of rows.values()) {
      const ends = [Math.min(...row.map((box) => box.left)), Math.max(...row.map((box) => box.right))];
      if (Math.abs(ends[0] - left) > 1 || Math.abs(ends[1] - right) > 1) gaps.push([grid.firstChild.id, ends]);
    }
  }
  return gaps;
}"""
"""The rows of charts that do not reach from one side of the page to the other."""

REPORTS = {
    "social": ("a1",),
    "several": ("a1", "a2", "b1"),
    "economy": ("economy",),
    "economies": ("economy", "strong"),
    "hostile": ("hostile",),
    "factors": ("factors",),
}
"""`{name of a report: its runs, or its experiment}`."""
LEVELS = [1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233]
PHONE = 400
HOSTILE = "\n".join(MARKUP.values())[:1900]


def made(*arguments: str) -> None:
    ended = prism_alone(*arguments)
    assert ended.code == 0, ended.err


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the reports of a hostile social run, an economy, and two configurations with two seeds.

    It is made before the browser starts, which has an event loop in this thread.
    """
    place = tmp_path_factory.mktemp("studies")
    people = plain(
        {
            "simulation": {"rounds": 6, "seed": 1},
            "population": {
                "size": 150,
                "topics": [TEXTS["script"], "food", "sport"],
                "attributes": {"party": {"type": "text", "values": ["left", TEXTS["script"]]}},
            },
            "run": {"question": HOSTILE},
        }
    )
    (place / "people.yaml").write_text(yaml.safe_dump(people))
    for name, settings in {"a1": (), "a2": ("simulation.seed=2",), "b1": ("feed.algorithm=hot",)}.items():
        made("run", str(place / "people.yaml"), "-q", f"--out={place / name}", *(f"--set={each}" for each in settings))
    economy = ROOT / "configs" / "economy.yaml"
    for name, weight in {"economy": 0.5, "strong": 1.5}.items():
        made("run", str(economy), "-q", f"--out={place / name}", f"--set=economy.taylor.inflation_weight={weight}")
    post = json.loads((place / "a1" / "summary.json").read_text())["largest_cascade"]["root_post"]
    few = ("--budget=12", "--draws=2", "--top=6")
    for of in (("--of=likes",), (f"--of=cascade:{post}",)):
        made("cause", str(place / "a1"), *of, *few)
    names = [MARKUP["script"], TEXTS["right_to_left_override"], TEXTS["wide"], "a condition " * 12]
    hypotheses: list[dict[str, Any]] = [
        {"measure": MARKUP["end_of_attribute"], "contrast": names[:2]},
        {"measure": "likes", "contrast": names[1:3], "test": "equivalence", "margin": 30},
    ]
    write_experiment_directory(
        place / "hostile",
        conditions={name: {"feed.topic": name} for name in names},
        measures={MARKUP["end_of_attribute"]: "likes", "likes": "likes"},
        hypotheses=hypotheses,
        question="\n".join(MARKUP.values())[:900],
        has_factors=False,
    )
    levels = {f"size={size} algorithm=hot": {"feed.size": size, "feed.algorithm": "hot"} for size in LEVELS}
    hypotheses = [{"measure": "likes", "contrast": [name, "size=1 algorithm=hot"]} for name in [*levels][1:]]
    cells = 8 * len(LEVELS) - 5
    write_experiment_directory(place / "factors", conditions=levels, hypotheses=hypotheses, done=cells, cells_done=3)
    for name, runs in REPORTS.items():
        made("report", *(str(place / run) for run in runs), f"--out={place / f'{name}.html'}", "-q")
    return place


@pytest.mark.parametrize(
    ("name", "width", "scheme"),
    [
        ("social", WIDE, "light"),
        ("several", NARROW, "dark"),
        ("economy", NARROW, "light"),
        ("economy", WIDE, "dark"),
        ("hostile", WIDE, "dark"),
        ("hostile", NARROW, "light"),
        ("factors", NARROW, "dark"),
    ],
)
def test_a_report_is_whole_at_every_width_and_in_every_theme(
    studies: Path, browser: Browser, name: str, width: int, scheme: Scheme
) -> None:
    url = (studies / f"{name}.html").as_uri()
    visit = browser.open(url, width=width, scheme=scheme)
    assert visit.problems() == []
    assert visit.requests == [url]
    assert visit.page.evaluate(FAULTS) == []
    assert visit.violations() == []
    assert visit.page.evaluate("() => window.harmed") is None
    if width == WIDE:
        assert visit.page.evaluate(GAPS) == []
    else:
        assert visit.page.evaluate(SMALL) == []


@catalogue("name", REPORTS)
def test_no_table_is_cut_on_a_phone(studies: Path, browser: Browser, name: str) -> None:
    visit = browser.open((studies / f"{name}.html").as_uri(), width=PHONE)
    assert visit.tables_cut() == []
    assert visit.overflow() == 0


def test_it_can_be_printed(studies: Path, browser: Browser) -> None:
    visit = browser.open((studies / "social.html").as_uri(), scheme="dark")
    pdf = visit.page.pdf(format="A4")
    assert pdf.startswith(b"%PDF")
    visit.page.emulate_media(media="print")
    ground = visit.page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb(255, 255, 255)"
