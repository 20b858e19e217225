"""docs/runs.md says what the code does: a reader that knows PRISM only from it reads what real runs have left."""

import json
import re
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from actors.factory.config_file import read_config
from actors.factory.domains import build_domain
from actors.store import checkpoint, journal, oracle_log, segments
from actors.store.disk import RealDisk
from actors.store.journal import Header
from actors.store.manifest import CONFIG
from actors.store.recovery import recover
from prism.columns import Columns
from prism.events import OF_EVERY_RUN, OF_FEEDS
from prism.planes import Form
from prism.social.posts.post import Post, author_of
from prism.tables import HEAPS, NUMBERS
from tests.actors.store.independent_reader import read_posts, read_run
from tests.catalogue import catalogue
from tests.paths import ROOT
from tests.recorded import DELIBERATION_TICKS, EMBEDDED, make_run

PAGE = (ROOT / "docs" / "runs.md").read_text(encoding="utf-8")
DECIDED = 4


def summary_of(run: Path) -> dict[str, Any]:
    summary: dict[str, Any] = msgspec.json.decode((run / "summary.json").read_bytes())
    return summary


def test_the_page_leads_to_this_reader_which_needs_no_code_of_prism() -> None:
    assert "(../tests/actors/store/independent_reader.py)" in PAGE
    source = Path(__file__).with_name("independent_reader.py").read_text(encoding="utf-8")
    assert not re.search(r"^(from|import) (prism|actors)", source, re.MULTILINE)


def test_its_counts_are_those_of_the_summary(embedded: Path) -> None:
    run = read_run(embedded)
    summary = summary_of(embedded)
    states, sources = ["idle"] * run.header["agents"], Counter[str]()
    for update in run.rows("updates"):
        assert states[update["agent"]] == update["from_state"]
        states[update["agent"]] = update["to_state"]
        sources[update["source"]] += 1
    questions = [*run.rows("questions")]
    assert (len(run.ticks), run.digest) == (summary["ticks"], summary["digest"])
    assert (run.header["seed"], run.header["agents"]) == (summary["seed"], summary["agents"])
    assert sources == +Counter(summary["decisions_by_source"] | summary["unmoved_by_source"])
    assert Counter(states) == +Counter(summary["agents_by_state"])
    assert len(questions) == summary["oracle_questions"] > 0
    assert {question["source"] for question in questions} == {"asked"}
    assert run.decided == []  # the embedded oracle computes its answers again


def test_sealed_ticks_are_those_of_the_run_that_sealed_none(embedded: Path, tmp_path: Path) -> None:
    sealed = make_run(tmp_path, {**EMBEDDED, "run": {"segment_mb": 0.01}})
    names = sorted(path.name for path in sealed.glob("journal-*"))
    run = read_run(sealed)
    assert len(names) >= 3
    assert run[1:4] == read_run(embedded)[1:4]
    assert run.header["sealed"]["tick"] > len(run.ticks) / 2
    known = [[*kind.values()] for kind in run.kinds]
    assert run.header["sealed"]["kinds"] == known[: len(run.header["sealed"]["kinds"])]
    stale = sealed / f"journal-{run.header['sealed']['start']:015d}.seg"
    stale.write_bytes(b"of a crash")
    assert read_run(sealed).ticks == run.ticks
    (sealed / names[1]).rename(sealed / "away")
    with pytest.raises(ValueError, match="sealed ticks"):
        read_run(sealed)
    (sealed / names[1]).write_bytes((sealed / names[0]).read_bytes())
    with pytest.raises(ValueError, match=r"does not follow|sealed ticks"):
        read_run(sealed)


def test_every_decision_of_a_model_is_in_the_oracles_log(live: Path) -> None:
    run = read_run(live)
    summary = summary_of(live)
    asked = {(question["tick"], question["agent"], question["trigger"]) for question in run.rows("questions")}
    answered = {(answer[1], answer[2], answer[3]): answer for answer in run.decided}
    settled = [update for update in run.rows("updates") if update["source"] == "llm"]
    assert all(answer[0] == DECIDED for answer in run.decided)
    assert len(answered) == len(run.decided) == summary["oracle_calls"] > 0
    assert answered.keys() <= asked
    assert len(settled) == summary["decisions_by_source"]["llm"] > 0
    for update in settled:
        question = update["tick"] - DELIBERATION_TICKS, update["agent"], update["trigger"]
        assert answered[question][4] == update["to_state"]


OUTSIDE = [
    {"round": 2, "publish": {"author": 7, "text": "The bridge is closed.", "topics": ["politics"], "quality": 0.9}},
    {"round": 3, "publish": {"author": 7, "text": "The bridge is open.", "topics": ["politics"], "quality": 1.0}},
]
REMEMBERING: dict[str, Any] = {**EMBEDDED, "feed": {**EMBEDDED["feed"], "horizon_rounds": 100, "out_of_network": 0.4}}
"""Settings under which nothing is forgotten, so that the whole world is in the last checkpoint."""


def posts_of(run: Path) -> list[Post]:
    """Return the posts that the run's own world holds at its end."""
    checkpoint = recover(RealDisk(run), repair=False).checkpoint
    assert checkpoint is not None
    world: Any = build_domain(read_config(run / CONFIG, environment={})).domain.world
    world.restore(Columns(checkpoint.columns))
    return [*world.network.living]


def check(run: Path) -> dict[str, Any]:
    """Compare what the reader rebuilds with the run's own world and summary, and return the summary."""
    posts, likes = read_posts(run)
    summary, own = summary_of(run), posts_of(run)
    parents = {"original": "publish", "reply": "reply", "reshare": "reshare"}
    assert posts == {post.id: (post.created, parents[post.kind], post.parent, post.root, post.depth) for post in own}
    assert list(posts) == [post.id for post in own]
    assert Counter(post for _, post in likes) == +Counter({post.id: post.likes for post in own})
    kinds = Counter(kind for _, kind, *_ in posts.values())
    assert (kinds["publish"], kinds["reply"], kinds["reshare"], len(likes)) == tuple(
        summary[name] for name in ("posts", "replies", "reshares", "likes")
    )
    return summary


def test_it_rebuilds_what_the_world_holds_and_feeds_are_recorded_only_where_it_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "with").mkdir()
    (tmp_path / "without").mkdir()
    settings = {**REMEMBERING, "interventions": OUTSIDE}
    recording = make_run(tmp_path / "with", {**settings, "run": {"record_feeds": True}})
    silent = make_run(tmp_path / "without", settings)
    summary = check(recording)
    assert min(summary[name] for name in ("posts", "likes", "replies", "reshares")) > 0
    run, plain = (read_run(run) for run in (recording, silent))
    shown: dict[tuple[int, int], list[int]] = {}
    for row in run.rows("feeds"):
        feed = shown.setdefault((row["tick"], row["agent"]), [])
        feed.append(row["post"])
        assert row["position"] == len(feed)
    assert [{name: waves for name, waves in tick.items() if name != "feeds"} for tick in run.ticks] == plain.ticks
    assert max(map(len, shown.values())) == 5
    posts = read_posts(recording)[0]
    for (tick, reader), feed in shown.items():
        assert feed == [-1] or all(author_of(post) != reader and posts[post][0] <= tick for post in feed)


def section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def rows(title: str) -> list[list[str]]:
    lines = (line for line in section(title).splitlines() if line.startswith("|"))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@catalogue(
    ("file", "magic"),
    [
        ("journal.prism", journal.MAGIC),
        ("oracle.log", oracle_log.MAGIC),
        ("journal-<place>.seg", segments.MAGIC),
        ("checkpoint-<tick>.bin", checkpoint.MAGIC),
    ],
)
def test_the_first_bytes_of_every_file_are_documented(file: str, magic: bytes) -> None:
    assert f"| `{file}` | `{repr(magic)[2:-1]}` |" in PAGE


def keys_in(text: str) -> list[str]:
    return re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \| ", text, re.MULTILINE)))


def test_every_key_of_the_header_is_documented() -> None:
    header = section("journal.prism").split("### Ticks")[0]
    of_sealed = {"first", "start", "tick", "link", "kinds"}
    assert of_sealed == set(segments.Sealed.__struct_fields__)
    assert sorted(keys_in(header)) == sorted(Header.__struct_fields__)
    row = next(line for line in header.splitlines() if line.startswith("| `sealed` |"))
    assert of_sealed <= set(re.findall(r"`(\w+)`", row))


def test_every_table_is_documented_with_its_columns_and_the_numbers_of_names() -> None:
    documented = {cells[0].strip("`"): cells[2] for cells in rows("journal.prism") if len(cells) == 3}
    for table in (*OF_EVERY_RUN, *OF_FEEDS):
        for column in table.columns:
            assert f"`{column.name}`" in documented[table.name], f"{table.name}.{column.name}"
            for number, name in enumerate(column.names):
                assert f"{number} `{name}`" in documented[table.name]


def test_every_type_of_a_column_is_documented() -> None:
    for dtype in (*NUMBERS, *HEAPS):
        assert f"`{dtype}`".replace("|", "\\|") in section("journal.prism")


def test_every_key_and_form_of_a_segment_is_documented() -> None:
    text, forms = section("Segments").split("| form |")
    assert sorted(keys_in(text)) == sorted(segments.Segment.__struct_fields__)
    assert f"`[{', '.join(segments.Block._fields)}]`" in text
    assert sorted(keys_in(forms)) == sorted(get_args(Form))


def test_the_hash_of_the_settings_can_be_worked_out_as_documented(embedded: Path) -> None:
    header = read_run(embedded).header
    canonical = json.dumps(header["config"], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert sha256(canonical.encode()).hexdigest() == header["config_sha256"]


def test_every_wave_of_a_tick_is_in_the_order_of_agents(embedded: Path) -> None:
    for tick in read_run(embedded).ticks:
        for table, waves in tick.items():
            for wave in waves if table != "kinds" else ():
                agents = [row["agent"] for row in wave]
                assert agents == sorted(agents)
