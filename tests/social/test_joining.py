"""People, their ties and all that names them are joined by id; otherwise only as the configuration says."""

from itertools import permutations

import pytest

from actors.factory.file_kinds import parse_graph
from prism.config.attributes import AttributeConfig
from prism.config.model import GraphConfig, PopulationConfig, PostsConfig
from prism.errors import ConfigError, InputError
from prism.rng import Draw, integer
from prism.social.people.population import Population, build_population
from prism.social.people.profiles import parse_profiles
from prism.social.posts.post_file import parse_posts

ROWS = ("ada,Ada,left", "bo,Bo,right", "cy,Cy,left", "di,Di,right")
TIES = ("di,cy", "cy,ada", "ada,bo", "bo,di", "ada,cy")


def built(
    people: str = "user_id,name,party\n" + "\n".join(ROWS),
    ties: str = "source,target\n" + "\n".join(TIES),
    *,
    size: int = 4,
    posts: str = "",
    author: str | None = "author",
    **settings: object,
) -> Population:
    """The people of two files, with posts; without ties those of a drawn graph."""
    config = PopulationConfig(
        profiles="people.csv",
        size=size,
        attributes={"party": AttributeConfig(type="text", values=("left", "right"), default="left")},
        graph=GraphConfig(path="ties.csv", directed=True) if ties else GraphConfig(kind="watts_strogatz", degree=2),
        posts=PostsConfig(file="posts.csv" if posts else None, author=author),
        **settings,  # type: ignore[arg-type]
    )
    profiles = parse_profiles(people.encode(), "people.csv", config)
    graph = parse_graph(ties.encode(), "ties.csv", config.graph) if ties else None
    return build_population(
        config,
        1,
        profiles=profiles,
        graph=graph,
        posts=parse_posts(posts.encode(), "posts.csv", config) if posts else None,
    )


def refusal(*files: str, **settings: object) -> str:
    with pytest.raises(ConfigError) as caught:
        built(*files, **settings)  # type: ignore[arg-type]
    return str(caught.value)


def known(population: Population) -> dict[str, tuple[str, str, list[str]]]:
    """Return `{id: (name, party, the names of those whom the person follows)}`."""
    graph = population.graph
    return {
        graph.names[person]: (
            population.name(person),
            str(population.personas[person].attributes["party"]),
            sorted(population.name(int(other)) for other in graph.following(person)),
        )
        for person in range(population.size)
    }


RIGHT = {
    "ada": ("Ada", "left", ["Bo", "Cy"]),
    "bo": ("Bo", "right", ["Di"]),
    "cy": ("Cy", "left", ["Ada"]),
    "di": ("Di", "right", ["Cy"]),
}


def test_whoever_has_an_id_has_the_ties_and_the_attributes_of_it_in_any_order_of_either_file() -> None:
    for rows in permutations(ROWS):
        population = built("user_id,name,party\n" + "\n".join(rows))
        assert known(population) == RIGHT
    for ties in permutations(TIES):
        assert known(built(ties="source,target\n" + "\n".join(ties))) == RIGHT
    assert population.joins == (
        "population.join: id: 4 people in ties.csv and people.csv (`user_id`); first: di is Di, cy is Cy, ada is Ada",
    )


def test_the_ids_may_be_in_any_column_that_tells_people_apart() -> None:
    for header, kind in {
        "id,realname": "user_id",
        "username,name": "username",
        "agent_id,name": "index",
        ",name": "index",
        "name,bio": "name",
    }.items():
        people = f"{header},party\n" + "\n".join(reversed(ROWS))
        population = built(people)
        assert [population.personas[population.number(each)].attributes["party"] for each in RIGHT] == [
            party for _, party, _ in RIGHT.values()
        ], header
        assert f"people.csv (`{kind}`)" in population.joins[0]
    numbers = built("user_id,name\n3.0,Cy\n1.0,Ada\n2.0,Bo", "source,target\n1,2\n2,3")
    assert [numbers.name(person) for person in range(3)] == ["Ada", "Bo", "Cy"]
    both = built("user_id,username,name\n7,ada,Ada\n8,bo,Bo\n9,cy,Cy\n10,di,Di")
    assert "(`username`)" in both.joins[0]
    assert [both.name(both.number(each)) for each in (7, "7", "ada", "Ada")] == ["Ada"] * 4


def test_whoever_is_in_one_file_only_is_refused_by_name() -> None:
    more = "\n".join(f"person-{number},P{number},left" for number in range(8))
    assert refusal(f"user_id,name,party\n{ROWS[0]}\n{ROWS[1]}\n{ROWS[2]}\n{more}") == (
        "configuration: population.unmatched: 1 person of ties.csv is not in people.csv: di; 8 people of people.csv "
        "are not in ties.csv: person-0, person-1, person-2, person-3, person-4 and 3 others; expected drop (leave "
        "them out), draw (people of ties.csv get profiles of others, by the seed) or files that match"
    )
    # Numbers of rows that begin elsewhere are ids of other people: nearly all of them meet.
    shifted = refusal("user_id,name\n0,A\n1,B\n2,C\n3,D", "source,target\n1,2\n2,3\n3,4")
    assert "1 person of ties.csv is not in people.csv: 4; 1 person of people.csv is not in ties.csv: 0;" in shifted


def test_people_of_one_file_are_left_out_or_get_a_drawn_profile_if_that_is_set() -> None:
    people = "user_id,name,party\n" + "\n".join([*ROWS[:3], "eve,Eve,right"])
    dropped = built(people, unmatched="drop")
    assert known(dropped) == {
        "cy": ("Cy", "left", ["Ada"]),
        "ada": ("Ada", "left", ["Bo", "Cy"]),
        "bo": ("Bo", "right", []),
    }
    assert dropped.joins[1] == (
        "population.unmatched: drop: 1 person of ties.csv is not in people.csv: di; 1 person of people.csv is not in "
        "ties.csv: eve; left out"
    )
    drawn = built(people, unmatched="draw")
    assert drawn.size == 4
    of_di = (("Ada", "left"), ("Bo", "right"), ("Cy", "left"), ("Eve", "right"))[integer(4, 1, 0, 0, Draw.PERSONA)]
    name, party, _ = known(drawn)["di"]
    assert (name.split()[0], party) == of_di
    assert [known(drawn)[each][:2] for each in ("bo", "cy")] == [RIGHT["bo"][:2], RIGHT["cy"][:2]]
    assert "those of ties.csv have profiles drawn by the seed; those of people.csv are left out" in drawn.joins[1]
    assert refusal(people, "source,target\nada,zoe\nzoe,bo", unmatched="drop") == (
        "configuration: population.unmatched: drop leaves no ties between people of people.csv"
    )


NUMBERS = "source,target\n1,2\n2,3\n3,4"


def test_files_without_a_common_id_are_refused_with_the_three_ways_to_join_them() -> None:
    assert refusal(ties=NUMBERS) == (
        "configuration: population.join: no id of people.csv (ada, bo, cy and 1 other) is in ties.csv (1, 2, 3 and 1 "
        "other): expected id (both files have the same ids), position (4 profiles for 4 people, in the order of both "
        "files) or draw (a profile for each person, by the seed)"
    )
    assert refusal("persona,party\nkind,left\nkind,left", NUMBERS).startswith(
        "configuration: population.join: people.csv has no ids, unlike ties.csv (1, 2, 3 and 1 other): expected id"
    )


def test_position_and_draw_happen_only_when_they_are_set_and_are_said() -> None:
    placed = built(ties=NUMBERS, join="position")
    assert [placed.name(person) for person in range(4)] == ["Ada", "Bo", "Cy", "Di"]
    assert placed.joins[0] == (
        "population.join: position: 4 profiles of people.csv and 4 people of ties.csv, in the order of both; first: 1 "
        "is Ada, 2 is Bo, 3 is Cy"
    )
    drawn = built(ties=NUMBERS, join="draw")  # also if there are as many profiles as people
    names = [("Ada", "Bo", "Cy", "Di")[integer(4, 1, person, 0, Draw.PERSONA)] for person in range(4)]
    assert [drawn.name(person).split()[0] for person in range(4)] == names
    assert drawn.joins[0].startswith(
        "population.join: draw: a profile of 4 profiles in people.csv is drawn for each of 4 people of ties.csv, with "
        "replacement; first: 1 is "
    )
    assert refusal(ties="source,target\n1,2\n2,3", join="position") == (
        "configuration: population.join: position: people.csv has 4 profiles for 3 people of ties.csv: expected the "
        "same number of both, or draw (a profile for each person, by the seed)"
    )


def test_a_drawn_graph_has_the_people_of_the_file_or_drawn_profiles() -> None:
    population = built(ties="")
    assert population.graph.names == ["ada", "bo", "cy", "di"]
    assert population.joins == (
        "people.csv: its 4 profiles are the people, numbered in its order; first: 0 is Ada, 1 is Bo, 2 is Cy",
    )
    assert refusal(ties="", size=5) == (
        "configuration: population.join: people.csv has 4 profiles for 5 people of population.size: expected the same "
        "number of both, or draw (a profile for each person, by the seed)"
    )
    assert built(ties="", size=5, join="draw").size == 5


def test_settings_find_people_by_id_first() -> None:
    tens = "source,target\n10,30\n30,20"
    people = "user_id,name\n30,Cy\n10,Ada\n20,2"
    population = built(people, tens)
    found = [population.name(population.number(each)) for each in (10, 20, "20", 30, "Ada", "2")]
    assert found == ["Ada", "2", "2", "Cy", "Ada", "2"]
    refused: dict[int | str, str] = {
        2: "expected the id of one of 3 people, got 2, which nobody has",
        "Eve": "expected the id or the name of one person, got 'Eve', the name of nobody",
    }
    for each, problem in refused.items():
        with pytest.raises(LookupError) as caught:
            population.number(each)
        assert caught.value.args[0] == problem
    words = built()  # with ids that are no numbers, a number is that of a person, from 0 on
    assert [words.name(words.number(each)) for each in (0, 1, "di", "Di")] == ["Di", "Cy", "Di", "Di"]


POSTS = "text,author\nOne,bo\nTwo,di\nThree,bo\nFour,"


def test_a_post_is_its_authors_if_authors_are_people() -> None:
    population = built(posts=POSTS)
    people = {population.number(name): name for name in RIGHT}
    assert [people.get(owner) for owner in population.owners.tolist()] == ["bo", "di", "bo", None]
    assert population.joins[1] == (
        "posts.csv: `author`: 3 posts of 2 people, which nobody else publishes; first: post 1 is bo's, post 2 is di's, "
        "post 3 is bo's; any person may publish 1 other"
    )
    assert (
        built(posts=POSTS.removesuffix("\nFour,"))
        .joins[1]
        .endswith("; 2 people without a post of their own write sentences")
    )
    named = built(
        "user_id,username,name\n1,ada,A\n2,bo,B\n3,cy,C\n4,di,D", posts=POSTS.replace("author", "By"), author="by"
    )
    assert named.owners.tolist() == [named.number("bo"), named.number("di"), named.number("bo"), -1]
    # Where nobody's id is in the column, or it is not to be read, a post is anybody's.
    foreign = "text,author\nOne,The Ledger\nTwo,Reuters"
    for several in (
        built(posts=foreign),
        built(posts=POSTS, author=None),
        built("name\nbo\ndi\nada\ncy", "", posts=POSTS),
        built(posts="text\nOne"),
    ):
        assert {*several.owners.tolist()} == {-1}
    assert built(posts=foreign).joins[1] == (
        "posts.csv: `author`: authors are not people (The Ledger, Reuters): any person may publish"
    )
    with pytest.raises(
        InputError, match=r"^posts\.csv:1: missing column: writer, for population\.posts\.author; the f"
    ):
        built(posts=POSTS, author="writer")


def test_authors_who_are_not_people_are_refused_unless_it_is_set_what_becomes_of_their_posts() -> None:
    some = POSTS + "".join(f"\nMore,x{number}" for number in range(7))
    assert refusal(posts=some) == (
        "configuration: population.unmatched: 7 authors are in posts.csv only: x0, x1, x2, x3, x4 and 2 others; "
        "expected drop (leave their posts out), draw (any person may publish them) or population.posts.author: null"
    )
    dropped, drawn = (built(posts=some, unmatched=way) for way in ("drop", "draw"))
    assert (dropped.owners[3:].tolist(), drawn.owners[3:].tolist()) == ([-1] + 7 * [4], 8 * [-1])
    assert dropped.joins[2] == (
        "population.unmatched: drop: 7 authors are in posts.csv only: x0, x1, x2, x3, x4 and 2 others; their posts are "
        "left out"
    )
    assert drawn.joins[2].endswith("; any person may publish their posts")
