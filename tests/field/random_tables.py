"""Random tables of ties, as programs and spreadsheets write them, with what made them."""

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from prism.config.model import GraphConfig

Tie = tuple[str, str]

ENDS = (
    ("source", "target"),
    ("Source", "Target"),
    ("from", "to"),
    ("FromNodeId", "ToNodeId"),
    ("follower", "followee"),
    ("follower_id", "following_id"),
    ("user_id", "friend_id"),
    ("SOURCE_SUBREDDIT", "TARGET_SUBREDDIT"),
    ("user_from", "user_to"),
    ("node1", "node2"),
    ("id_1", "id_2"),
    ("src", "dst"),
    ("ego", "alter"),
    ("person", "buddy"),
    ("hund", "katze"),
    ("x", "y"),
)
NAMELESS = (("person", "buddy"), ("hund", "katze"), ("x", "y"))
"""Names of ends that no list knows."""
SYLLABLES = ("ba", "co", "da", "el", "fi", "go", "hu", "io", "ka", "lu", "mi", "no")

IDS: tuple[Callable[[int], str], ...] = (
    str,
    lambda each: str(each * 37 + 1000),
    lambda each: f"u{each}",
    lambda each: f"{SYLLABLES[each % 12]}{SYLLABLES[each // 12 % 12]}",
    lambda each: f"{SYLLABLES[each % 12].title()} {SYLLABLES[each // 12 % 12].title()}x",
)
"""Ids of people by their numbers."""


class RandomTable(NamedTuple):
    """A table of ties.

    Args:
        text: its text.
        ties: the ties that made it: follower and followee.
        told: settings that say all that the table does not.
    """

    text: str
    ties: set[Tie]
    told: GraphConfig


def random_table(seed: int) -> RandomTable:
    """Return a random table: its people, columns, their order and names, and its dialect."""
    draw = Random(seed)
    people, ties = _ties(draw)
    separator = draw.choice(["\t", ";", ",", ",", "|", " "])
    if separator == " ":
        ties = [(one.replace(" ", "_"), other.replace(" ", "_")) for one, other in ties]
    comma = separator == ";" and draw.random() < 0.6
    floats = people[0].isdecimal() and draw.random() < 0.2
    names, cells = _columns(draw, ties, comma=comma, floats=floats)
    width = draw.randrange(2, 4 if draw.random() < 0.6 else 6)
    order = [0, 1, *draw.sample(range(2, len(names)), min(width, len(names)) - 2)]
    if draw.random() < 0.5:
        draw.shuffle(order)
    has_header = draw.random() < 0.6
    if not has_header or (names[0], names[1]) in NAMELESS:  # then the order alone tells who follows
        first, second = sorted((order.index(0), order.index(1)))
        order[first], order[second] = 0, 1
    rows = [[names[each] for each in order]] if has_header else []
    rows += [[line[each] for each in order] for line in cells]
    if separator == " ":
        rows = [[cell or "NA" for cell in row] for row in rows]
    quoted = draw.choice(["none", "none", "all", "texts"])
    is_padded = quoted == "none" and separator in ",;|" and draw.random() < 0.2
    between = f" {separator} " if is_padded else separator
    lines = [between.join(_quoted(cell, quoted, separator) for cell in row) for row in rows]
    if draw.random() < 0.2 and separator != " ":
        lines = [line + separator for line in lines]
    for _ in range(draw.randrange(3)):
        lines.insert(draw.randrange(len(lines) + 1), draw.choice(["", "   "]))
    if draw.random() < 0.2:
        lines.insert(0, "# made by hand")
    text = draw.choice(["", "", "\ufeff"]) + draw.choice(["\n", "\r\n"]).join(lines) + draw.choice(["", "\n"])
    told = GraphConfig(
        directed=True, columns=(order.index(0) + 1, order.index(1) + 1), separator=separator, header=has_header
    )
    return RandomTable(text, {tie for tie in ties if tie[0] != tie[1]}, told)


def _ties(draw: Random) -> tuple[list[str], list[Tie]]:
    """Return some people and ties between them, at least one of which is between two."""
    make = draw.choice(IDS)
    people = [make(each) for each in range(draw.randrange(3, 60))]
    some, others = (people, people) if draw.random() < 0.85 else (people[::2], people[1::2])
    ties = [(draw.choice(some), draw.choice(others)) for _ in range(draw.randrange(2, 120))]
    if draw.random() < 0.5:
        ties.sort()
    if all(one == other for one, other in ties):
        ties.append((people[0], people[1]))
    return people, ties


def _columns(draw: Random, ties: list[Tie], *, comma: bool, floats: bool) -> tuple[list[str], list[list[str]]]:
    """Return the names of columns, the two ends in front, and the cells of each line."""
    other: dict[str, Callable[[int], str]] = {
        draw.choice(["", "Unnamed: 0", "index", "id", "nr", "huhn"]): lambda at: str(at + start),
        draw.choice(["weight", "Weight", "meetings", "ente"]): lambda at: str(draw.randrange(1, most)),
        draw.choice(["share", "gans"]): lambda at: f"{draw.random():.2f}".replace(".", "," if comma else "."),
        draw.choice(["timestamp", "time", "wolf"]): lambda at: str(1_500_000_000 + at * 77 + draw.randrange(50)),
        draw.choice(["date", "igel"]): lambda at: f"2020-{at % 12 + 1:02}-{at % 28 + 1:02}",
        draw.choice(["label", "relation", "reh"]): lambda at: draw.choice(["", "likes", "knows"]),
        draw.choice(["time_of_day", "dachs"]): lambda at: f"2020-01-{at % 28 + 1:02} 10:00:{at % 60:02}",
        draw.choice(["note", "floh"]): lambda at: "",
    }
    if {one for one, _ in ties} & {another for _, another in ties}:  # else it would fit better than an end does
        other[draw.choice(["via", "luchs"])] = lambda at: draw.choice(ties)[draw.randrange(2)]
    start, most = draw.choice([0, 1]), draw.choice([2, 6, 40])
    ends = draw.choice(ENDS)
    point = ",0" if comma else ".0"
    # pandas makes one column of numbers floats, or both
    shown = [floats, floats and draw.random() < 0.5]
    cells = [
        [cell + point if is_float else cell for cell, is_float in zip(tie, shown, strict=True)]
        + [make(at) for make in other.values()]
        for at, tie in enumerate(ties)
    ]
    return [*ends, *other], cells


def _quoted(cell: str, how: str, separator: str) -> str:
    is_quoted = how == "all" or (how == "texts" and not cell.replace(".", "").replace(",", "").isdecimal())
    return f'"{cell}"' if is_quoted or separator in cell else cell
