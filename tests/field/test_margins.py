"""Populations from margins: what was asked for, what comes out, and what cannot be."""

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from prism.config.model import PopulationConfig
from prism.errors import InputError
from prism.social.people.margins import DrawnMargins, Margins, parse_margin
from prism.social.people.people import SyntheticPeople
from tests.catalogue import catalogue
from tests.command import Prism

ATTRIBUTES: dict[str, Any] = {
    "age": {"type": "int", "min": 18, "max": 90},
    "region": {"type": "text", "values": ["north", "south"]},
    "leaning": {"type": "text"},
    "member": {"type": "bool"},
    "zeal": {"type": "float", "min": 0, "max": 1},
}
AGE = "age,share\n18-29,0.2\n30-64,0.55\n65+,0.25\n"
REGION_LEANING = 'region,leaning,count\nnorth,left,"1,200"\nnorth,right,800\nsouth,left,500\nsouth,right,1500\n'
AGE_REGION = (
    "age;region;percent\n18-29;north;14\n18-29;south;6\n30-64;north;26\n30-64;south;29\n65+;north;10\n65+;south;15\n"
)
TABLES = {"age.csv": AGE, "region_leaning.csv": REGION_LEANING, "age_region.csv": AGE_REGION}
MEMBER = {"member.csv": "member,share\ntrue,0.3\nno,0.7\n"}


def people(**changes: Any) -> PopulationConfig:
    return PopulationConfig(attributes={**ATTRIBUTES, **changes})


def margins(tables: dict[str, str], config: PopulationConfig | None = None) -> Margins:
    config = config or people()
    return Margins([parse_margin(text.encode(), name, config) for name, text in tables.items()], config)


def drawn(tables: dict[str, str], size: int, seed: int = 7) -> SyntheticPeople:
    config = people()
    return SyntheticPeople(size, seed, config, DrawnMargins(margins(tables, config), size, seed))


def test_people_have_the_shares_of_every_table() -> None:
    counts = Counter(
        (person.attributes["age"] < 30, person.attributes["region"], person.attributes["leaning"])  # type: ignore[operator]
        for person in drawn(TABLES | MEMBER, 2000)
    )
    asked = {(True, "north"): 0.14, (True, "south"): 0.06, (False, "north"): 0.36, (False, "south"): 0.44}
    for row, share in asked.items():
        assert counts[*row, "left"] + counts[*row, "right"] == pytest.approx(2000 * share, abs=2)
    for region, leaning, share in (("north", "left", 0.3), ("north", "right", 0.2), ("south", "left", 0.125)):
        assert counts[True, region, leaning] + counts[False, region, leaning] == pytest.approx(2000 * share, abs=3)


def test_nothing_is_assumed_beyond_the_tables() -> None:
    shares = margins({"age.csv": AGE, "region_leaning.csv": REGION_LEANING} | MEMBER).shares
    age, both, member = np.array([0.2, 0.55, 0.25]), np.array([[0.3, 0.2], [0.125, 0.375]]), np.array([0.3, 0.7])
    assert np.allclose(shares, np.einsum("a,rl,m->arlm", age, both, member), atol=1e-12)


def test_the_fit_keeps_the_odds_ratio_that_two_tables_leave_open() -> None:
    # Of age and leaning the tables say nothing but through the region: within a region they are independent.
    shares = margins({name: TABLES[name] for name in ("region_leaning.csv", "age_region.csv")} | MEMBER).shares.sum(
        axis=3
    )
    within = shares / shares.sum(axis=(0, 2), keepdims=True)
    assert np.allclose(within, within.sum(axis=2, keepdims=True) * within.sum(axis=0, keepdims=True), atol=1e-9)


@catalogue("size", [1, 2, 7, 400])
def test_a_table_of_one_attribute_comes_out_within_one_person(size: int) -> None:
    config = PopulationConfig(attributes={name: ATTRIBUTES[name] for name in ("age", "member")})
    for table, outcomes in DrawnMargins(margins({"age.csv": AGE} | MEMBER, config), size, 3).outcomes():
        if table.source == "age.csv":  # the first attribute of the configuration, by which people are lined up
            assert all(abs(asked - came_out) <= 1.0 / size for _, asked, came_out in outcomes)
        assert sum(came_out for *_, came_out in outcomes) == pytest.approx(1.0)


def test_who_has_which_values_is_drawn_and_the_rest_is_as_without_margins() -> None:
    first, again, other = (
        [dict(person.attributes) for person in drawn(TABLES | MEMBER, 300, seed)] for seed in (7, 7, 8)
    )
    assert first == again
    assert first != other
    plain = SyntheticPeople(300, 7, PopulationConfig(attributes={"zeal": ATTRIBUTES["zeal"]}))
    assert [person["zeal"] for person in first] == [person.attributes["zeal"] for person in plain]
    assert [*first[0]] == [*ATTRIBUTES]
    regions = [person["region"] for person in first]
    assert 100 < sum(one != next_one for one, next_one in pairwise(regions)) < 200
    one = drawn(TABLES | MEMBER, 50)[3].attributes  # the same on every machine
    assert one == {"age": 19, "region": "north", "leaning": "left", "member": False, "zeal": one["zeal"]}


UNUSABLE = r"""
age,share\n18-29,0.2\n30+,0.5 => \
a.csv: share: expected figures that add up to 1, got 0.7; is a row missing, or is it a count?
age,share\n18-29,0.2\n18-29,0.8 => a.csv:3: is the row of line 2 again
age,share\n18-29,0.2\n29+,0.8 => a.csv: age: has 18-29 and 29-90: expected bands apart
region,share\nNorth,1 => a.csv:2: region: expected one of: north, south, got 'North'
age,weight\n18+,1 => \
a.csv:1: expected one column of figures (share, percent, count) and columns that differ, got: age, weight
ages,share\n18+,1 => \
a.csv:1: has the column 'ages': expected attributes of population.attributes (age, region, leaning, member, zeal)
age,region,share\n18-29,north,0.2\n30+,south,0.8 => \
a.csv: has no row for age 18-29, region south: expected one for each combination, with 0 where nobody is
AGE & age,region,share\n18-39,north,0.5\n18-39,south,0\n40+,north,0\n40+,south,0.5 => \
b.csv: age: expected the values of a.csv (18-29, 30-64, 65-90), got 18-39, 40-90
AGE & CONTRADICTS => a.csv: contradicts the other tables: age 30-64 is 55.0% here, and they leave 49.0%
age;count\n18-29;1.200\n30-64;800\n65+;500 => \
a.csv:2: count: expected a count without separators, got 1.200: write 1200, or 1.2000
"""
"""The text of a.csv, and of b.csv behind an &; behind the arrow the line."""


def test_a_table_that_cannot_be_used_is_one_clear_line() -> None:
    config = people(leaning={"type": "text", "default": "left"})
    known = {"AGE": AGE, "CONTRADICTS": AGE_REGION.replace("14", "20").replace("26", "20")}
    cases = [({"a.xlsx": AGE}, "a.xlsx: expected margins in .csv, .tsv, .parquet (also .gz), got .xlsx")]
    for line in UNUSABLE.replace("\\\n", "").strip().splitlines():
        given, message = line.split(" => ")
        texts = [known.get(text, text.replace("\\n", "\n") + "\n") for text in given.split(" & ")]
        cases.append((dict(zip(("a.csv", "b.csv"), texts, strict=False)), message))
    for tables, message in cases:
        with pytest.raises(InputError) as caught:
            margins(tables | MEMBER, config)
        assert str(caught.value).startswith(message)


def test_tables_of_which_only_all_together_are_impossible_are_refused_with_the_figures() -> None:
    attributes: Any = {name: {"type": "bool"} for name in ("one", "two", "three")}
    same = "{},{},share\ntrue,true,0.5\ntrue,false,0\nfalse,true,0\nfalse,false,0.5\n"
    differ = "{},{},share\ntrue,true,0\ntrue,false,0.5\nfalse,true,0.5\nfalse,false,0\n"
    tables = {
        "a.csv": same.format("one", "two"),
        "b.csv": same.format("two", "three"),
        "c.csv": differ.format("one", "three"),
    }
    with pytest.raises(
        InputError, match=r"^[abc]\.csv: contradicts the other tables: .* is 50\.0% here, and they leave 0\.0%$"
    ):
        margins(tables, PopulationConfig(attributes=attributes))


def test_tables_that_differ_by_rounding_are_brought_together_and_the_difference_is_shown() -> None:
    rounded = AGE_REGION.replace("18-29;north;14", "18-29;north;14.4").replace("65+;south;15", "65+;south;14.9")
    found = margins({"age.csv": AGE, "age_region.csv": rounded, "region_leaning.csv": REGION_LEANING} | MEMBER)
    first, second, *_ = DrawnMargins(found, 10_000, 1).lines
    assert "shares of 10,000 people, off by 0." in first
    assert "(they add up to 1.003 and are scaled to 1)" in second


def test_what_was_asked_beside_what_came_out_is_printed_and_recorded(prism: Prism) -> None:
    Path("study").mkdir()
    for name, text in (TABLES | MEMBER).items():
        Path("study", name).write_text(text)
    config = {
        "simulation": {"rounds": 1, "ticks_per_round": 4},
        "population": {"size": 40, "attributes": ATTRIBUTES, "margins": [*TABLES, *MEMBER]},
        "oracle": {"choice": {"attributes": {"leaning": {"left": 0.2}, "age": 0.001}}},
    }
    Path("study/c.yaml").write_text(json.dumps(config))
    checked = prism("validate", "study/c.yaml")
    line = (
        "population.margins: study/age.csv: 3 shares of 40 people, off by 0.00 points at most: age 18-29 asked 20.0%, "
        "came out 20.0%; age 30-64 asked 55.0%, came out 55.0%; age 65-90 asked 25.0%, came out 25.0%"
    )
    assert line in checked.out.splitlines()
    assert line in prism("validate", "study/c.yaml").out.splitlines()
    ran = prism("run", "study/c.yaml", "--out", "out")
    assert ran.code == 0, ran.err
    assert line in ran.err
    recorded = json.loads(Path("out/summary.json").read_text())["margins"]
    assert [*recorded] == [*TABLES, *MEMBER]
    assert recorded["age.csv"][0] == {"row": "age 18-29", "asked": 0.2, "came_out": 0.2}
    inputs = json.loads(Path("out/manifest.json").read_text())["inputs"]
    assert {Path(name).name for name in inputs} == {*recorded}
    ended = prism("validate", "--set", "population.margins=[age.csv]", "--set", "population.profiles=p.csv")
    assert (ended.code, "people come from profiles or from margins" in ended.err) == (3, True)
