"""The report of runs: it says what the run's files say, loads nothing, and is the same each time."""

import json
import re
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from actors.pages.counterfactuals import anchor
from actors.pages.page import POLICY, rendered, tag
from actors.pages.report import comparison, notices, report, told_of_runs
from actors.pages.words import NO_VALUE
from actors.results.run_record import RunRecord, groups_of
from actors.studies.causes.record import keep
from prism.errors import ConfigError
from tests.actors.pages.test_html import Page
from tests.actors.studies.causes.test_kept import LIKES
from tests.command import prism_alone
from tests.own_domains import CROSSING, path_restored, write_study
from tests.plain import plain
from tests.recorded import SMALL, make_run


@pytest.fixture(scope="module")
def run(small_run: Path) -> Path:
    return small_run


@pytest.fixture(scope="module")
def record(run: Path) -> RunRecord:
    return RunRecord(run, "small")


@pytest.fixture(scope="module")
def html(record: RunRecord) -> str:
    return report([record])


def words_of(*runs: RunRecord) -> str:
    """Return the page of runs without its pictures, which take long to draw."""
    told = told_of_runs(runs)
    warned = [tag("p", text, class_="notice") for text in (*told.notices, *told.remarks)]
    nodes = [*([] if told.lead is None else [told.lead]), *warned, *(each.drawn for each in told.sections if each)]
    return "".join(rendered(each, lambda picture: rendered(tag("i", picture.title))) for each in nodes)


def test_its_numbers_are_those_of_the_summary(run: Path, html: str) -> None:
    rows, summary = Page(html).rows, json.loads((run / "summary.json").read_text())
    by_source = summary["decisions_by_source"]
    expected = {"small": "done", "digest": summary["digest"]}
    expected |= {"a rule of the chart": f"{by_source['rule']:,}", "the embedded oracle": f"{by_source['oracle']:,}"}
    assert {name: rows[name][0] for name in expected} == expected
    counts = [f"{summary[name]:,}" for name in ("activations", "transitions", "oracle_questions")]
    assert rows["small"][4:7] == counts


def test_cascades_are_those_of_the_summary_and_originals_that_are_too_young_are_counted(run: Path, html: str) -> None:
    (young,) = set(re.findall(r"Left out: ([0-9,]+) originals? of the last rounds, which may still grow\.", html))
    kept = Page(html).rows["the run"][0]
    summary = json.loads((run / "summary.json").read_text())
    assert int(young.replace(",", "")) + int(kept.replace(",", "")) == summary["posts"]
    largest = summary["largest_cascade"]
    assert f"{largest['size']} posts with the original, depth {largest['depth']}" in html


def test_it_loads_nothing_and_its_links_lead_somewhere(html: str) -> None:
    tables = Page(html)
    assert "script" not in tables.elements
    assert "link" not in tables.elements
    assert [address for address in tables.addresses if not address.startswith("#")] == []
    assert re.findall(r"url\((?!#)", html) == []
    assert "@import" not in html
    assert sorted(tables.ids) == sorted(set(tables.ids))
    assert {address.removeprefix("#") for address in tables.addresses} <= set(tables.ids)
    assert {found.group(1) for found in re.finditer(r"url\(#([^)]*)\)", html)} <= set(tables.ids)
    assert f'content="{POLICY.replace(chr(39), "&#x27;")}"' in html


def test_the_causes_that_a_run_keeps_stand_in_it_and_the_cascade_leads_to_them(run: Path, tmp_path: Path) -> None:
    own = Path(shutil.copytree(run, tmp_path / "own"))
    course = RunRecord(own, "own").course
    [(original, _)] = course.posts.largest(1)
    root, author = original.post, original.author
    for of in ("likes", f"cascade:{root}"):
        keep(own, replace(LIKES, of=of, ticks=72, causes=(replace(LIKES.causes[0], agent=author),)))
    page = words_of(RunRecord(own, "own"))
    tables = Page(page)
    place = anchor(f"cascade:{root}")
    assert tables.addresses.count(f"#{place}") == 1
    assert place in tables.ids
    assert sorted(tables.ids) == sorted(set(tables.ids))
    assert f"What made cascade:{root}" in page
    assert "What made likes" in page
    assert '<section id="causes">' in page


@pytest.mark.slow
def test_the_same_run_gives_the_same_bytes(record: RunRecord, run: Path, html: str) -> None:
    assert report([RunRecord(run, "small")]) == html
    assert len(html.encode()) < 1_000_000


@pytest.mark.slow
def test_a_killed_run_says_so_at_the_top(run: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(run, tmp_path / "run")
    (copy / "summary.json").unlink()
    journal = (copy / "journal.prism").read_bytes()
    for checkpoint in copy.glob("checkpoint-*"):
        checkpoint.unlink()
    (copy / "journal.prism").write_bytes(journal[: len(journal) // 2])
    record = RunRecord(copy, "killed")
    html = report([record])
    assert 0 < record.course.ticks < 72
    notice = f"this page shows {record.course.ticks} of its 72 ticks"
    assert notice in html[: html.index("<nav")]


def test_a_damaged_run_stands_alone_and_no_mean_or_median_includes_it(run: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(run, tmp_path / "run")
    journal = bytearray((copy / "journal.prism").read_bytes())
    journal[len(journal) // 2] ^= 1
    (copy / "journal.prism").write_bytes(journal)
    damaged, whole = RunRecord(copy, "bad"), RunRecord(run, "good")
    groups, differences = groups_of([damaged, whole])
    assert ([[each.name for each in group.runs] for group in groups], differences) == ([["good"], ["bad"]], {})
    assert groups[1].label == f"bad, damaged after {damaged.course.ticks} ticks"
    (notice,) = notices([damaged, whole])
    told = f"The journal of run bad is damaged after {damaged.course.ticks} of its 72 ticks: "
    assert (notice[: len(told)], "`prism verify run`" in notice) == (told, True)
    [posts] = [row for row in comparison(groups).rows if row[0] == "posts"]
    assert [float(str(value)) for value in posts[1:]] == [each.rounds["posts"][-1] for each in (whole, damaged)]
    assert whole.summary is not None
    assert whole.summary.in_words[0] in words_of(damaged, whole)


def test_a_configuration_that_cannot_be_read_is_the_error_of_its_line(run: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(run, tmp_path / "run")
    with (copy / "config.yaml").open("a") as file:
        file.write("nope: 1\n")
    with pytest.raises(ConfigError, match=r"config.yaml:\d+: nope: unknown key"):
        RunRecord(copy, "run")


@pytest.mark.slow
def test_seeds_are_a_group_and_other_settings_are_listed(run: Path, tmp_path: Path) -> None:
    seed = make_run(tmp_path, {**SMALL, "simulation": {**SMALL["simulation"], "seed": 6}}, "seed")
    feed = make_run(tmp_path, {**SMALL, "feed": {**SMALL["feed"], "algorithm": "hot"}}, "feed")
    runs = [RunRecord(path, path.name) for path in (run, seed, feed)]
    groups, differences = groups_of(runs)
    assert [[run.name for run in group.runs] for group in groups] == [["run", "seed"], ["feed"]]
    assert [*differences] == ["feed.algorithm"]
    rows = Page(report(runs)).rows
    assert rows["feed.algorithm"] == ["interest", "hot"]
    posts = sorted(json.loads((path / "summary.json").read_text())["posts"] for path in (run, seed))
    assert rows["posts"][0] == f"{sum(posts) / 2:,.6g} ({posts[0]:,} to {posts[1]:,})"


def test_a_model_has_its_times_and_calls(live: Path) -> None:
    record = RunRecord(live, "live")
    rows = Page(words_of(record)).rows
    assert rows["answered"][0] == f"{sum(each.calls for each in record.spent if each.outcome == 'ok'):,}"
    assert rows["all answers"][0] == f"{len(record.latencies_s):,}"


def test_a_run_without_posts_says_so_and_a_question_stays_a_text(tmp_path: Path) -> None:
    people = {**SMALL["population"], "posts_per_session": 0}
    asked = {"run": {"question": "Does <b>order</b> matter?"}, "population": people}
    page = report([RunRecord(make_run(tmp_path, {**SMALL, **asked}), "silent")])
    assert "Does &lt;b&gt;order&lt;/b&gt; matter?" in page
    assert "Nobody posted anything, so there are no cascades." in page


def test_rounds_of_an_economy_without_a_real_start_have_their_numbers(tmp_path: Path) -> None:
    path = tmp_path / "quick"
    made = prism_alone("run", "-q", "--set=simulation.domain=economy", "--set=simulation.rounds=2", f"--out={path}")
    assert made.code == 0
    told = words_of(RunRecord(path, "quick"))
    table = told[told.index("quarter</th>") :].split("</table>")[0]
    assert re.findall(r"<tr><t[hd][^>]*>([^<]*)<", table) == ["1", "2"]


def test_the_command_writes_a_file_whole_and_does_not_replace_one(run: Path, economy_run: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    assert prism_alone("report", str(run), "--out", str(out)).code == 0
    written = out.read_text(encoding="utf-8")
    again = prism_alone("report", str(run), "--out", str(out))
    assert (again.code, "--force" in again.err) == (2, True)
    mixed = prism_alone("report", str(run), str(economy_run), "--out", str(out), "--force")
    assert (mixed.code, "expected runs of one domain, got social and economy" in mixed.err) == (2, True)
    twice = prism_alone("report", str(run), str(run), "--out", str(out), "--force")
    assert (twice.code, "is named twice" in twice.err) == (2, True)
    assert out.read_text(encoding="utf-8") == written
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.slow
def test_each_chart_is_also_a_figure_for_a_paper(run: Path, tmp_path: Path) -> None:
    figures = tmp_path / "figures"
    asked = ("report", str(run), "--out", str(tmp_path / "report.html"), "--force", "--figures", str(figures))
    assert prism_alone(*asked).code == 0
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    names = sorted(path.stem for path in figures.glob("*.pdf"))
    assert len(names) == html.count("<svg")
    assert names[0] == "01-what-people-did"
    assert all((figures / f"{name}.{ending}").stat().st_size for name in names for ending in ("svg", "png"))
    captions = (figures / "captions.txt").read_text(encoding="utf-8").splitlines()
    assert [line.partition(": ")[0] for line in captions] == names
    again = prism_alone(*asked[:4], "-q", "--out", str(tmp_path / "other.html"), "--figures", str(figures))
    assert (again.code, "is not empty" in again.err) == (2, True)


@pytest.mark.slow
def test_real_cascades_stand_beside(run: Path, tmp_path: Path) -> None:
    rows = ["cascade,node,parent,delay_minutes"]
    rows += [f"{cascade},{node},{node - 1 if node else -1},{node}" for cascade in range(3) for node in range(4)]
    (tmp_path / "real.csv").write_text("\n".join(rows) + "\n")
    out = tmp_path / "report.html"
    ended = prism_alone("report", str(run), "--against", str(tmp_path / "real.csv"), "--out", str(out))
    assert ended.code == 0, ended.err
    html = out.read_text(encoding="utf-8")
    assert "3 real" in html
    assert Page(html).rows["real cascades"] == ["3", "4", "4", "4", "4"]


def test_the_report_of_a_domain_of_ones_own_shows_its_world(tmp_path: Path) -> None:
    with path_restored():
        study = write_study(tmp_path / "study", CROSSING + "\n\nfrom junction.show import TrafficShow as SHOW\n")
        assert prism_alone("run", str(study.config), "-q", "--out", str(tmp_path / "run")).code == 0
        assert "<h2>The world</h2>" in words_of(RunRecord(tmp_path / "run", "run"))


def test_interventions_and_what_had_no_effect_are_listed_and_marked(tmp_path: Path) -> None:
    lurking = Path(__file__).parents[1] / "factory" / "lurking.yaml"
    study = {
        "simulation": {"rounds": 9, "seed": 7},
        "population": {"size": 200},
        "statechart": {"file": str(lurking)},
        "interventions": [
            {"round": 3, "publish": {"author": 17, "text": "<b>News</b>"}},
            {"round": 4, "set": {"feed.algorithm": "interest"}},
        ],
    }
    # Nobody answers or reshares in it, so cascades have no depth.
    html = words_of(RunRecord(make_run(tmp_path, plain(study)), "run"))
    rows = Page(html).rows
    assert rows["round 3, tick 48"][:2] == ["publish", 'by 17: "<b>News</b>"']
    assert rows["round 4, tick 72"] == ["set", "feed.algorithm=interest", NO_VALUE]
    assert html.count("Dotted lines: 2 interventions.") == 2
    notice = '<p class="notice">without effect: '
    assert f"{notice}interventions[1]: set at tick 72 changes nothing: what it asks for is so already</p>" in html
    assert f"{notice}lurking: " in html
