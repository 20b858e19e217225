"""The relations of a run that are not in its journal: its people, their ties, its rounds, and the oracle's log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import msgspec
import numpy as np
from msgspec.json import encode

from actors.core.errors import UntrustedCodeError
from actors.factory.domains import look_at_domain
from actors.factory.input_files import load_posts
from actors.store.course import NO_POSTS, POST_COLUMNS, Places, Posts
from actors.store.messages import questions_in
from actors.store.oracle_log import ANSWERS, RecordedAnswers
from actors.store.record import AGENT, tick_of_rows
from actors.store.rounds import ROUNDS
from actors.store.run import Recorded, list_run, shown_path
from actors.tables.arrow import PART_ROWS, Coded, Columns
from actors.tables.schema import attribute_columns, post_columns
from prism.agents import DECIDED, MOVED, STALE, Source
from prism.agents.waves import SEEN
from prism.columns import Ints, begins_run, distinct, places_among
from prism.config import Config
from prism.domain import Domain
from prism.errors import ConfigError, InputError
from prism.events import MADE, ON_TIES
from prism.llm.spending import USEFUL, cost_usd
from prism.rng import Draw, integers
from prism.rows import Heap, unpacked
from prism.scorecard.cascades import above_all, shapes_in
from prism.social.people.people import People
from prism.social.people.population import Population
from prism.social.posts.post import TEMPLATES, PostKind
from prism.social.ties.graph import BOUND, ties_from_outside
from prism.tables import Kind, Table, Value

_POST_KINDS: Final = (PostKind.ORIGINAL, PostKind.REPLY, PostKind.RESHARE)  # the kind of what `MADE` names
_VALUES: Final = {"float": float, "int": int, "bool": bool, "text": str}
_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder().decode


class Made:
    """The relations of one run that Python makes. The journal has been read to its end."""

    def __init__(self, run: Recorded, tables: Mapping[str, Table], configs: Sequence[Config]) -> None:
        self.run, self.tables = run, tables
        self._of_people, self._of_posts = attribute_columns(configs), post_columns(configs)
        self.relations = {
            "runs": self._runs,
            "rounds": self._rounds,
            "made.edges": self._edges,
            "agents": self._agents,
            "made.cascades": self._cascades,
            "made.posts": self._posts,
            "made.engagements": self._engagements,
            "made.file_posts": self._file_posts,
            "made.attributes_at_start": self._attributes_at_start,
            "made.traits": self._traits,
            "made.questions": self._questions,
        }

    # The domain, which is made again when it is first asked for.

    @cached_property
    def domain(self) -> Domain | None:
        """The domain of the run; None if it is code that this user has not allowed: then a note says so."""
        hint = "; --tables without agents, edges, attribute_changes and questions needs no input files"
        try:
            return look_at_domain(self.run.config).domain
        except InputError as error:
            raise ConfigError(str(self.run.path), f"{error}{hint}") from None
        except UntrustedCodeError as error:
            self.run.notes.append(f"without the state of agents that never moved: {error.reason}")
            return None

    @cached_property
    def population(self) -> Population | None:
        found = getattr(self.domain, "population", None)
        return found if isinstance(found, Population) else None

    @cached_property
    def edges(self) -> tuple[Columns, Ints] | None:
        """The times of ties, and how many more followers and followees each has at the end; None without people."""
        return None if self.population is None else _edges_of(self.run, self.population)

    def _drawn(self, attribute: str) -> Sequence[Value | None]:
        """Return the values of an attribute at the start; nothing without people."""
        return () if self.population is None else People(self.population.personas).attribute(attribute)

    # What is known of the run as a whole.

    def _runs(self) -> Iterator[Columns]:
        run, simulation, forks = self.run, self.run.config.simulation, self.run.manifest.forks
        parent = (forks[-1].parent, forks[-1].tick) if forks else (None, None)
        row = (
            *(shown_path(run.path), list_run(run.path).status.value, simulation.domain),
            *(run.header.seed, run.header.agents, run.length, simulation.length),
            *(simulation.ticks_per_round, simulation.tick_seconds, run.time_at(0), run.digest),
            *(run.manifest.oracle or None, *parent, run.header.prism, run.header.config_sha256),
            encode(run.header.config).decode(),
        )
        names = (each.name for each in self.tables["runs"].columns[1:])
        yield {name: [value] for name, value in zip(names, row, strict=True)}

    def _rounds(self) -> Iterator[Columns]:
        run, rounds = self.run, self.run.rounds_until(self.run.length)
        if not rounds.get("round") and run.length >= run.config.simulation.ticks_per_round:
            run.notes.append(f"{ROUNDS} has no rows; `prism resume` writes them again")
        yield {"time": [*map(run.time_at, map(int, rounds.get("tick", ())))], **rounds}

    def _edges(self) -> Iterator[Columns]:
        if self.edges is not None and "ties" in self.run.record.all_of():
            yield self.edges[0]

    def _agents(self) -> Iterator[Columns]:
        """Yield all agents: what they were at the start, what they did, and what people are at the end."""
        run, population, count = self.run, self.population, self.run.header.agents
        values: dict[str, Any] = {} if self.domain is None else dict(run.show.agent_values(self.domain))
        recorded = run.record.all_of()
        names: Any = None if population is None else People(population.personas).texts("name")
        if names is None:
            names = [run.show.name(agent) or None for agent in range(count)]
        if population is not None and "followers" in values:
            if self.edges is not None and "ties" in recorded:
                for name, more in zip(("followers", "following"), self.edges[1], strict=True):
                    values[f"{name}_end"] = values[name] + more
            for (name, is_end), column in self._of_people.items():
                found = self._at_end(name) if is_end and "attributes" in recorded else self._drawn(name)
                values[column.name] = [_as_kind(column.kind, value) for value in found]
            if {"posts", "likes"} <= recorded.keys():  # how often each person has posted, replied, reshared and liked
                made = run.record.table("posts", until=run.length, columns=(AGENT, "what"))
                done = [made[AGENT][made["what"] == kind] for kind in range(len(MADE))]
                done.append(run.record.table("likes", until=run.length, columns=(AGENT,))[AGENT])
                for name, agents in zip(("posts", "replies", "reshares", "likes"), done, strict=True):
                    values[name] = np.bincount(agents, minlength=count)
        yield {"agent": np.arange(count), "name": names, **self._moves(), **values}

    def _moves(self) -> Columns:
        """Return the state of each agent at the end, since when it is in it, and how often it has moved."""
        run, count = self.run, self.run.header.agents
        last, since, moves = np.full(count, -1, np.int32), np.zeros(count, np.int64), np.zeros(count, np.int64)
        for block in run.blocks({"updates": (AGENT, "kind")}):
            table = block.tables["updates"]
            is_move = np.array([each.source in MOVED for each in run.record.kinds], np.bool_)[table.columns["kind"]]
            agents = table.columns[AGENT][is_move]
            last[agents] = table.columns["kind"][is_move]  # of several moves of an agent the last one stays
            since[agents] = tick_of_rows(table)[is_move]
            moves += np.bincount(agents, minlength=count)
        states = [each.to_state for each in run.record.kinds]
        if self.domain is not None:
            last[last < 0] = len(states)
            states.append(str(self.domain.chart.initial.value))
        return {"state": Coded(last, states), "state_since_tick": since, "transitions": moves}

    def _at_end(self, name: str) -> list[Value | None]:
        run, found = self.run, [*self._drawn(name)]
        changes = run.record.table("attributes", until=run.length)
        names, of_row = changes["name"].numbered()
        if name in names:
            places = np.flatnonzero(of_row == names.index(name))
            values = np.asarray(unpacked(changes["value"].at(places)), object).tolist()
            convert_to = _VALUES[run.config.population.attributes[name].type]
            for agent, value in zip(changes["agent"][places].tolist(), values, strict=True):
                found[agent] = convert_to(value)
        return found

    def _attributes_at_start(self) -> Iterator[Columns]:
        run = self.run
        changed = run.record.table("attributes", until=run.length, columns=("name",)) if self.population else {}
        for name in changed["name"].numbered()[0] if changed else ():
            drawn = self._drawn(name)
            yield {"agent": np.arange(len(drawn)), "name": [name] * len(drawn), **numbers_and_texts(drawn)}

    def _traits(self) -> Iterator[Columns]:
        """Yield the attributes of people at the start as texts, as the places of measures have them."""
        for name in self.run.config.population.attributes if self.population is not None else ():
            known, drawn = dict[Value | None, int](), self._drawn(name)
            codes = np.array([known.setdefault(value, len(known)) for value in drawn], np.int32)
            texts = [f"{value:g}" if isinstance(value, float) else str(_as_kind(Kind.TEXT, value)) for value in known]
            nothing = np.zeros(len(codes), np.int32)
            yield {"agent": np.arange(len(codes)), "attribute": Coded(nothing, [name]), "value": Coded(codes, texts)}

    # Posts, and the trees that they form.

    @cached_property
    def _made(self) -> Posts:
        tables = [
            block.tables["posts"] for block in self.run.blocks({"posts": POST_COLUMNS}) if "posts" in block.tables
        ]
        return NO_POSTS.followed_by(tables)

    def forget(self) -> None:
        """Free what is only needed while relations are made."""
        self.__dict__.pop("_made", None)

    def _posts(self) -> Iterator[Columns]:
        """Yield all posts, each with its place in its tree, what its root is about, and the reactions to it."""
        run, posts, waves, numbers = self.run, self._made, list[Any](), list[Any]()
        self.forget()
        topics, known = list[Any](), dict[bytes, int]()
        for block in run.blocks({"posts": ("topics", "number")}):
            if (table := block.tables.get("posts")) is not None:
                waves.append(np.repeat(table.waves, table.rows).astype(np.int32))
                numbers.append(table.columns["number"].astype(np.int32))
                topics.append(coded(table.columns["topics"].values(), known).codes)
        if not len(posts.ids):
            return
        wave, number, topic = (np.concatenate(each) for each in (waves, numbers, topics))
        liked = posts.places(run.record.table("likes", until=run.length, columns=("post",))["post"])
        of_kind = [posts.above[(posts.kinds == kind) & (posts.above >= 0)] for kind in (1, 2)]
        counts = [np.bincount(each, minlength=len(wave)).astype(np.int32) for each in (liked[liked >= 0], *of_kind)]
        depths, texts = above_all(posts.above)[1].astype(np.int32), [_as_json(each) for each in known]
        for start in range(0, len(wave), PART_ROWS):  # all at once would take half a gigabyte of a million people
            rows = slice(start, start + PART_ROWS)
            roots = posts.roots[rows]
            yield {
                "tick": posts.ticks[rows],
                "wave": wave[rows],
                "agent": posts.authors[rows],
                "what": Coded(posts.kinds[rows], MADE),
                "post": posts.ids[rows],
                "parent": posts.parents[rows],
                "topics": Coded(topic[roots], texts),
                "number": number[roots],
                "template": _templates(run.header.seed, posts.kinds[rows], posts.authors[rows], posts.ticks[rows]),
                "root": posts.ids[roots],
                "depth": depths[rows],
                **{name: each[rows] for name, each in zip(("likes", "replies", "reshares"), counts, strict=True)},
            }

    def _engagements(self) -> Iterator[Columns]:
        """Yield likes, replies and reshares, with the author and the root of the post; -1 for none."""
        posts, agents = self._made, self.run.header.agents
        self.forget()
        if not len(posts.ids):
            return
        place_of = Places(posts)
        ids, authors, places_of_roots = (np.append(each, -1) for each in (posts.ids, posts.authors, posts.roots))
        for block in self.run.blocks({"posts": POST_COLUMNS, "likes": (AGENT, "post")}):
            if not {"posts", "likes"} <= block.tables.keys():
                continue
            made, likes = (block.tables[name] for name in ("posts", "likes"))
            answers = np.flatnonzero(made.columns["parent"] >= 0)
            own, liked = block.keys("posts", agents)[answers], block.keys("likes", agents)
            order = np.argsort(np.append(2 * own, 2 * liked + 1), kind="stable")
            done = np.append(made.columns["parent"][answers], likes.columns["post"])[order]
            places = place_of(done)
            yield {
                "tick": np.append(tick_of_rows(made)[answers], tick_of_rows(likes))[order],
                "agent": np.append(made.columns[AGENT][answers], likes.columns[AGENT])[order],
                "kind": Coded(
                    np.append(made.columns["what"][answers], np.full(len(liked), len(MADE)))[order], (*MADE, "like")
                ),
                "post": done,
                "author": authors[places],
                "root": ids[places_of_roots[places]],
                "created": np.append(made.columns["post"][answers], np.full(len(liked), -1))[order],
            }

    def _cascades(self) -> Iterator[Columns]:
        posts, agents = self._made, self.run.header.agents
        originals = np.flatnonzero(posts.above < 0)
        if not len(originals):
            return
        shapes = shapes_in(posts.above, np.zeros(len(posts.ids)))
        by = distinct(posts.roots * agents + posts.authors) // agents
        yield {
            "root": posts.ids[originals],
            "tick": posts.ticks[originals],
            "author": posts.authors[originals],
            "posts": shapes.size,
            "people": np.bincount(by, minlength=len(posts.ids))[originals],
            "depth": shapes.depth,
            "breadth": shapes.breadth,
            "structural_virality": np.where(shapes.size > 1, shapes.virality, np.nan),
        }

    def _file_posts(self) -> Iterator[Columns]:
        is_feed = "posts" in self.run.show.event_tables
        posts = (load_posts(self.run.config.population)[0] or ()) if is_feed else ()
        values = {
            column.name: [_as_kind(column.kind, each.attributes.get(name)) for each in posts]
            for name, column in self._of_posts.items()
        }
        yield {"number": np.arange(1, len(posts) + 1), "text": [each.text for each in posts], **values}

    # The oracle.

    def _questions(self) -> Iterator[Columns]:
        """Yield all questions, each with the update that decided it, and with its answer in the log."""
        run, kinds, answers = self.run, self.run.record.kinds, RecordedAnswers(self.run.disk)
        prices, (decided_ticks, decided), at, lost = run.config.llm.prices, self._decided(), 0, 0
        seed = b"%d:" % run.header.seed
        for block in run.blocks(run.record.all_of("questions")):
            table = block.tables["questions"]
            if not (count := len(ticks := tick_of_rows(table))):
                continue
            asked = [*questions_in(ticks.tolist(), [*table.columns.values()], run.record.shapes, kinds)]
            of = [*map(answers.take, asked)] if answers.are_left() else list[Any]()
            post, seen = (table.columns.get(name) for name in (run.show.post_field, SEEN))
            settled = decided[at : at + count]
            by_model = np.array([each.source == Source.LLM for each in kinds] + [False], np.bool_)[settled].tolist()
            lost += sum(is_so and not answer for is_so, answer in zip(by_model, of or [None] * count, strict=True))
            yield {
                "tick": ticks,
                "agent": table.columns[AGENT],
                "kind": table.columns["kind"],
                "decided": settled,
                "decided_tick": decided_ticks[at : at + count],
                "asked": Heap.of([seed + _encode(each) for each in asked]),
                "post": None if post is None or seen is None else np.where(seen, post, -1),
                **{name: [each and get(each, prices) for each in of] for name, get in _LOGGED.items() if any(of)},
            }
            at += count
        answer = "1 answer" if lost == 1 else f"{lost:,} answers"
        note = f"{ANSWERS} lacks {answer}, whose latency and cost are not known"
        if lost and note not in run.notes:
            run.notes.append(note)

    def _decided(self) -> tuple[Ints, Ints]:
        """Return the tick and the kind of the update that decided each question; -1 for one that is open.

        It is the next decision of the agent on the same trigger, if no other question comes before that.
        """
        run, triggers, found = self.run, dict[str, int](), [np.empty((3, 0), np.int64)]
        for block in run.blocks({"questions": (AGENT, "kind"), "updates": (AGENT, "kind")}):
            kinds = run.record.kinds
            settles = np.array([each.source in DECIDED or each.reason == STALE for each in kinds], np.bool_)
            of_kinds = np.array([triggers.setdefault(each.trigger, len(triggers)) for each in kinds], np.int64)
            for is_update, table in enumerate((block.tables["questions"], block.tables["updates"])):
                codes = table.columns["kind"]
                rows = np.flatnonzero(settles[codes]) if is_update else np.arange(len(codes))
                steps = np.repeat((table.ticks << 16) + table.waves, table.rows)[rows]
                asked = (table.columns[AGENT][rows].astype(np.int64) << 16) + of_kinds[codes[rows]]
                found.append(np.array((asked, 2 * steps + is_update, codes[rows])))
        asked, steps, codes = np.concatenate(found, axis=1)
        order = np.lexsort((steps, asked))
        is_question = steps & 1 == 0
        one, other = order[:-1], order[1:]
        is_answered = is_question[one] & ~is_question[other] & (asked[one] == asked[other])
        one, other = one[is_answered], other[is_answered]
        ticks, kinds_of = np.full((2, len(asked)), -1)
        ticks[one], kinds_of[one] = steps[other] >> 17, codes[other]
        return ticks[is_question], kinds_of[is_question]


_LOGGED: Final[Mapping[str, Any]] = {
    "logged_source": lambda answer, _: answer.source,
    "method": lambda answer, _: answer.method or None,
    "content": lambda answer, _: answer.content or None,
    "latency_s": lambda answer, _: answer.latency_s,
    "calls": lambda answer, _: sum(each.calls for each in answer.spent),
    "failed_calls": lambda answer, _: sum(each.calls for each in answer.spent if each.outcome != USEFUL),
    "prompt_tokens": lambda answer, _: sum(each.prompt_tokens for each in answer.spent),
    "cached_tokens": lambda answer, _: sum(each.cached_tokens for each in answer.spent),
    "completion_tokens": lambda answer, _: sum(each.completion_tokens for each in answer.spent),
    "cost_usd": lambda answer, prices: cost_usd(answer.spent, prices),
}
"""`{column: its value of an answer in the log, and of the prices}`."""


def _edges_of(run: Recorded, population: Population) -> tuple[Columns, Ints]:
    """Return the times for which people follow others, those of the start first, and how many more each then has.

    The second is of shape (2, people): followers and followees at the end, less those at the start.
    """
    graph, size = population.graph, population.graph.size
    starts, followees, *_ = graph.arrays()
    until, more = np.full(len(followees), -1, np.int32), np.zeros((2, size), np.int64)
    later = np.empty((4, 0), np.int64)
    changes = _tie_changes(run, population)
    if len(changes[0]):
        # 1. The changes of a tie one after the other; in a tick those from outside come first. What is so already is
        #    not changed.
        ticks, is_own, ones, others, follows = changes
        tails, heads = graph.ties()
        order = np.lexsort((is_own, ticks, ones * size + others))
        ties, ticks, follows = (ones * size + others)[order], (ticks + is_own)[order], follows[order]
        places = places_among(tails * size + heads, ties)
        before = np.where(begins_run(ties), places >= 0, np.roll(follows, 1))
        ties, ticks, follows, places = (each[follows != before] for each in (ties, ticks, follows, places))
        # 2. Of a tie of the start the first change is its end; each change that makes a tie lasts until the next.
        is_end = begins_run(ties) & (places >= 0)
        until[places[is_end]] = ticks[is_end]
        goes_on = np.append(~begins_run(ties)[1:], False)  # the last one has no next
        ends = np.where(goes_on, np.roll(ticks, -1), -1)
        later = np.array((ties // size, ties % size, ticks, ends))[:, follows == 1]
        more = np.array([np.bincount(each, 2 * follows - 1, size) for each in (ties % size, ties // size)], np.int64)
    ones = np.repeat(np.arange(size, dtype=np.int32), np.diff(starts))
    first = ones, followees, np.zeros_like(ones), until
    joined = [np.concatenate(each, dtype=np.int32) for each in zip(first, later, strict=True)] if later.size else first
    names = ("follower", "followee", "from_tick", "until_tick")
    return dict(zip(names, joined, strict=True)), more


def _tie_changes(run: Recorded, population: Population) -> Ints:
    """Return of each change the tick, whether it is a person's own, the two people, and whether one follows then."""
    record = run.record
    if "ties" not in record.all_of():
        return np.empty((5, 0), np.int64)
    own = record.table("ties", until=run.length, columns=("agent", "what", "whom"))
    bound = np.isin(own["what"], [ON_TIES.index(each) for each in BOUND])
    made = own["what"] == ON_TIES.index("follow")
    columns = own["tick"], np.ones(len(bound)), own["agent"], own["whom"], made
    done = record.table("interventions", until=run.length, columns=("content",))
    contents = zip(done["tick"].tolist(), map(_decode, done["content"].values()), strict=True)
    outside = [each for tick, content in contents for each in ties_from_outside(tick, content, population.number)]
    first = np.array([(tick, 0, one, other, follows) for tick, one, other, follows in outside], np.int64)
    return np.concatenate((np.array([each[bound] for each in columns], np.int64), first.reshape(-1, 5).T), axis=1)


def numbers_and_texts(values: Any) -> Columns:
    """Return the values of an attribute as two columns: its numbers, and its texts. `values`: an array has numbers."""
    if isinstance(values, np.ndarray):
        return {"number": values.astype(np.float64)}
    numbers = [None if value is None or isinstance(value, str) else float(value) for value in values]
    return {"number": numbers, "text": [value if isinstance(value, str) else None for value in values]}


def _as_kind(kind: Kind, value: Value) -> Value:
    """Return the value of an attribute as its column has it; runs may declare it with another type."""
    if kind is Kind.TEXT and value is not None and not isinstance(value, str):
        return str(value).lower() if isinstance(value, bool) else str(value)
    return float(value) if kind is Kind.NUMBER and isinstance(value, int) else value


def coded(values: Sequence[bytes], known: dict[bytes, int]) -> Coded:
    """Return values that are msgpack as JSON, of which few differ. `known`: `{value: its number}`, which grows."""
    numbers = (known.setdefault(each, len(known)) if each else -1 for each in values)
    codes = np.fromiter(numbers, np.int32, len(values))
    return Coded(codes, [_as_json(each) for each in known])


def _as_json(value: bytes) -> str:
    return encode(_decode(value)).decode()


def _templates(seed: int, kinds: Ints, authors: Ints, ticks: Ints) -> Coded:
    """Return the template of the text of each post. `kinds`: their places in `MADE`."""
    codes, texts = np.full(len(kinds), -1, np.int32), list[str]()
    for number, kind in enumerate(_POST_KINDS):
        rows = np.flatnonzero(kinds == number)
        drawn = integers(len(TEMPLATES[kind]), seed, authors[rows], ticks[rows], Draw.TEXT)
        codes[rows] = len(texts) + drawn
        texts += TEMPLATES[kind]
    return Coded(codes, texts)


_TEXT, _NUMBER, _WHOLE = "VARCHAR", "DOUBLE", "BIGINT"
MADE_TYPES: Final[Mapping[str, Mapping[str, str]]] = {
    "made.edges": dict.fromkeys(("follower", "followee", "from_tick", "until_tick"), "INTEGER"),
    "made.attributes_at_start": {"agent": _WHOLE, "name": _TEXT, "number": _NUMBER, "text": _TEXT},
    "made.traits": {"agent": _WHOLE, "attribute": _TEXT, "value": _TEXT},
    "made.questions": {
        **dict.fromkeys(("tick", "agent", "kind", "decided", "decided_tick", "post"), _WHOLE),
        "asked": "BLOB",
        **dict.fromkeys(("logged_source", "method", "content"), _TEXT),
        **dict.fromkeys(("calls", "failed_calls", "prompt_tokens", "cached_tokens", "completion_tokens"), _WHOLE),
        **dict.fromkeys(("latency_s", "cost_usd"), _NUMBER),
    },
    "made.posts": {
        **dict.fromkeys(("tick", "wave", "depth", "likes", "replies", "reshares"), "INTEGER"),
        **dict.fromkeys(("agent", "post", "parent", "number", "root"), _WHOLE),
        **dict.fromkeys(("what", "topics", "template"), _TEXT),
    },
    "made.engagements": {
        **dict.fromkeys(("tick", "agent", "post", "author", "root", "created"), _WHOLE),
        "kind": _TEXT,
    },
    "made.cascades": {
        **dict.fromkeys(("root", "tick", "author", "posts", "people", "depth", "breadth"), _WHOLE),
        "structural_virality": _NUMBER,
    },
}
"""`{relation: {column: its type}}` of those whose columns are always the same."""
