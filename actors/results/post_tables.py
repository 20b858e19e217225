"""The posts, engagements and feeds of a run as tables.

The journal names each post and its parent; its cascade, its topics and its text follow from earlier rows. So all posts
and likes are read before the first row is written: memory holds some numbers of each post.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
import numpy as np

from actors.factory.charts import look_at_chart
from actors.factory.input_files import load_posts
from actors.results.part import Part
from actors.results.table_files import BATCH_ROWS, Rows
from actors.store.posts import COLUMNS, NO_POSTS
from actors.store.record import Block, selected, tick_of_rows
from actors.store.run import Recorded
from actors.store.segments import TableRows
from prism.agents import MOVED
from prism.cells import Cells
from prism.columns import Ints
from prism.events import MADE
from prism.rng import Draw, integers
from prism.social.posts.post import TEMPLATES, PostKind

_KINDS: Final = (PostKind.ORIGINAL, PostKind.REPLY, PostKind.RESHARE)
"""The kind of what `MADE` names."""
_ORIGINS: Final = ("template", "file", "intervention", "llm")
_TEMPLATES_MAX: Final = max(map(len, TEMPLATES.values()))
_NONE: Final = np.empty(0, np.int64)
LIKE: Final = "like"
_decode: Final = msgspec.msgpack.Decoder().decode


class Drafts:
    """The texts that a model has written for posts that are not yet made."""

    wanted: Final = {"updates": ("agent", "kind"), "effects": ("agent", "value")}

    def __init__(self, run: Recorded) -> None:
        behaviour = look_at_chart(run.config).behaviour
        self._run = run
        self._effects = behaviour.effects
        self._resting = {state.value for state in behaviour.roles}
        self._drafts: dict[int, str] = {}

    def said(self, block: Block) -> dict[tuple[int, int], str]:
        """Return `{(tick, agent): the text}` of the posts that updates have made in a block."""
        agents, said = self._run.header.agents, dict[tuple[int, int], str]()
        updates, effects = block.tables["updates"], block.tables["effects"]
        values = map(_decode, effects.columns["value"].values())
        own = dict(zip(block.keys("effects", agents).tolist(), values, strict=True))
        writers = np.array([*self._drafts, *effects.columns["agent"].tolist()], np.int64)
        places = np.flatnonzero(np.isin(updates.columns["agent"], writers))
        ticks, keys = tick_of_rows(updates)[places].tolist(), block.keys("updates", agents)[places].tolist()
        who, codes = (updates.columns[name][places].tolist() for name in ("agent", "kind"))
        for tick, key, agent, code in zip(ticks, keys, who, codes, strict=True):
            kind = self._run.record.kinds[code]
            if kind.source not in MOVED:
                continue
            if (effect := kind.effect or own.get(key)) is not None:
                self._drafts.pop(agent, None)
                if isinstance(effect, list):
                    self._drafts[agent] = effect[1]
            done = self._effects.get(kind.trigger)
            if done is not None and (kind.from_state, kind.to_state) in done and agent in self._drafts:
                said[tick, agent] = self._drafts.pop(agent)
            if kind.to_state in self._resting:
                self._drafts.pop(agent, None)
        return said


class PostTables(Part):
    """The rows of `posts` and `engagements`, and the posts and likes of each agent.

    Args:
        posts, engagements: the rows; None for a table that is not wanted.
        attributes: those of posts that have a column.
        is_feed: whether posts are those of people on a feed, and have texts.
    """

    def __init__(
        self, run: Recorded, posts: Rows | None, engagements: Rows | None, attributes: Sequence[str], *, is_feed: bool
    ) -> None:
        super().__init__(run)
        self.made: dict[str, Ints] = {kind: np.zeros(run.header.agents, np.int64) for kind in (*MADE, LIKE)}
        """`{kind: how many each agent has made}`."""
        self._rows, self._engagements, self._attributes, self._is_feed = posts, engagements, attributes, is_feed
        self._given = (load_posts(run.config.population)[0] or ()) if is_feed else ()
        self._drafts = Drafts(run) if is_feed and run.config.llm.writes else None
        self._tables = list[TableRows]()
        self._liked, self._topics, self._numbers = [_NONE], [_NONE], [_NONE]
        """Of each like the post; of each post the number of its topics, and its number in the file of posts."""
        self._of_topics: dict[bytes, int] = {}
        self._texts: dict[int, tuple[str, str]] = {}
        """`{place of a post: its text and origin}` of those that an intervention or a model has written."""
        self._posts = NO_POSTS
        self.before = {"posts": (*COLUMNS, "topics", "number"), "likes": ("agent", "post")}
        self.before |= {"interventions": ("content",)} if is_feed else {}
        self.before |= {} if self._drafts is None else Drafts.wanted
        self.wanted = {} if engagements is None else {"posts": COLUMNS, "likes": ("agent", "post")}

    def look(self, block: Block) -> None:
        posts, likes = block.tables["posts"], block.tables["likes"]
        agents, what, many = posts.columns["agent"], posts.columns["what"], self.run.header.agents
        for number, kind in enumerate(MADE):
            self.made[kind] += np.bincount(agents[what == number], minlength=many)
        self.made[LIKE] += np.bincount(likes.columns["agent"], minlength=many)
        self._liked.append(likes.columns["post"])
        if self._is_feed and len(posts.rows):
            self._note_texts(block, sum(map(len, self._topics)))
        codes = [self._of_topics.setdefault(each, len(self._of_topics)) for each in posts.columns["topics"].values()]
        self._topics.append(np.array(codes, np.int64))
        self._numbers.append(posts.columns["number"])
        self._tables.append(posts._replace(columns={name: posts.columns[name] for name in COLUMNS}))

    def ready(self) -> None:
        """Write the posts, with the counts of reactions to them."""
        posts = self._posts = NO_POSTS.followed_by(self._tables)
        self._tables.clear()
        if self._rows is None or not len(posts.ids):
            return
        above, liked = posts.places(posts.parents), posts.places(np.concatenate(self._liked))
        of_kind = [liked, *(np.where(posts.kinds == MADE.index(each), above, -1) for each in ("reply", "reshare"))]
        counts = [np.bincount(of[of >= 0], minlength=len(posts.ids)) for of in of_kind]
        # Steps towards the root: those to the parent, then those from there on, until all have reached it.
        depths, reached = (above >= 0).astype(np.int64), np.where(above < 0, np.arange(len(above)), above)
        while not np.array_equal(reached, posts.roots):
            depths, reached = depths + depths[reached], reached[reached]
        topics, numbers = (np.concatenate(each)[posts.roots] for each in (self._topics, self._numbers))
        listed = [msgspec.json.encode(_decode(each)).decode() for each in self._of_topics]
        values = [np.array([None, *(each.attributes.get(name) for each in self._given)]) for name in self._attributes]
        for start in range(0, len(posts.ids), BATCH_ROWS):
            part = slice(start, start + BATCH_ROWS)
            self._rows.extend(
                Cells.same(self.run.name, len(posts.ids[part])),
                *(posts.ids[part], posts.ticks[part], self.run.times(posts.ticks[part]), posts.authors[part]),
                *(Cells(posts.kinds[part], _KINDS), Cells.from_zero(posts.parents[part])),
                *(posts.ids[posts.roots[part]], depths[part], Cells(topics[part], listed)),
                *self._written(part, topics[part], numbers[part]),
                Cells(numbers[part], is_there=numbers[part] > 0),
                *(each[part] for each in counts),
                *(each[numbers[part]].tolist() for each in values),
            )

    def take(self, block: Block) -> None:
        """Add the engagements of a block: of an agent in a wave first a reply or reshare, then a like."""
        if self._engagements is None:
            return
        posts, likes, many = block.tables["posts"], block.tables["likes"], self.run.header.agents
        answers = np.flatnonzero(posts.columns["parent"] >= 0)
        order = np.argsort(np.append(block.keys("posts", many)[answers], block.keys("likes", many)), kind="stable")
        given, none = likes.columns, np.full(len(likes.columns["post"]), -1)
        ticks, agents, kinds, about, created = (
            np.append(made[answers], liked)[order]
            for made, liked in (
                (tick_of_rows(posts), tick_of_rows(likes)),
                (posts.columns["agent"], given["agent"]),
                (posts.columns["what"], np.full_like(none, len(MADE))),
                (posts.columns["parent"], given["post"]),
                (posts.columns["post"], none),
            )
        )
        of = self._posts.places(about)
        of_post = self._posts.authors, self._posts.ids[self._posts.roots]
        authors, roots = (Cells.from_zero(np.append(each, -1)[of]) for each in of_post)
        kinds_of = Cells(kinds, (*MADE, LIKE))
        self.add(self._engagements, ticks, agents, kinds_of, about, authors, roots, Cells.from_zero(created))

    def _note_texts(self, block: Block, before: int) -> None:
        """Note the texts that interventions and models have written. `before`: the posts before those of the block."""
        posts, done = block.tables["posts"], block.tables["interventions"]
        if len(done.rows):  # each intervention has a wave of its own, and so has the post that it publishes
            starts = (before + np.cumsum(posts.rows) - posts.rows).tolist()
            of_wave = dict(zip(zip(posts.ticks.tolist(), posts.waves.tolist(), strict=True), starts, strict=True))
            for wave, content in zip(_waves(done), done.columns["content"].values(), strict=True):
                published = _decode(content).get("publish")
                if published is not None and wave in of_wave:
                    number = published.get("post")
                    text = str(published.get("text") or "") if number is None else self._given[number - 1].text
                    if text:
                        self._texts[of_wave[wave]] = text, "intervention"
        if self._drafts is not None and (said := self._drafts.said(block)):
            names = zip(tick_of_rows(posts).tolist(), posts.columns["agent"].tolist(), strict=True)
            for place, name in enumerate(names, before):
                if place not in self._texts and (text := said.pop(name, "")):
                    self._texts[place] = text, "llm"

    def _written(self, part: slice, topics: Ints, numbers: Ints) -> tuple[Cells, Cells]:
        """Return the texts of some posts, and their origins.

        Args:
            topics: the number of the topics of each one's root, and `numbers`: its number in the file of posts.
        """
        kinds, authors, ticks = (each[part] for each in (self._posts.kinds, self._posts.authors, self._posts.ticks))
        if not self._is_feed:
            return Cells.same(None, len(kinds)), Cells.same(None, len(kinds))
        # 1. Templates: the same sentence for each kind, draw and topic.
        named = [(*_decode(each), "this")[0] for each in self._of_topics]
        drawn = np.empty(len(kinds), np.int64)
        for number, kind in enumerate(_KINDS):
            if (is_of := kinds == number).any():
                of = integers(len(TEMPLATES[kind]), self.run.header.seed, authors[is_of], ticks[is_of], Draw.TEXT)
                drawn[is_of] = number * _TEMPLATES_MAX + of
        used, codes = np.unique(drawn * len(named) + topics, return_inverse=True)
        texts = []
        for template, topic in zip(*(each.tolist() for each in np.divmod(used, len(named))), strict=True):
            kind, which = divmod(template, _TEMPLATES_MAX)
            texts.append(TEMPLATES[_KINDS[kind]][which].format(topic=named[topic]))
        origins = np.zeros(len(kinds), np.int32)
        # 2. Texts of the file, which reshares have, too.
        is_given = (numbers > 0) & (kinds != MADE.index("reply"))
        codes[is_given], origins[is_given] = len(texts) + numbers[is_given] - 1, _ORIGINS.index("file")
        texts += [each.text for each in self._given]
        # 3. What interventions and models have written.
        for place in self._texts.keys() & range(*part.indices(len(self._posts.ids))):
            text, origin = self._texts[place]
            codes[place - part.start], origins[place - part.start] = len(texts), _ORIGINS.index(origin)
            texts.append(text)
        return Cells(codes, texts).few(), Cells(origins, _ORIGINS)


def _waves(table: TableRows) -> Iterator[tuple[int, int]]:
    """Return the tick and the wave of each row."""
    return zip(*(np.repeat(each, table.rows).tolist() for each in (table.ticks, table.waves)), strict=True)


class Feeds(Part):
    """The rows of `feeds`."""

    def __init__(self, run: Recorded, rows: Rows) -> None:
        super().__init__(run)
        self._rows = rows
        self.wanted = {"feeds": ("agent", "position", "post")}

    def take(self, block: Block) -> None:
        shown = selected(block.tables["feeds"], block.tables["feeds"].columns["post"] >= 0)
        self.add(self._rows, tick_of_rows(shown), *(shown.columns[name] for name in ("agent", "position", "post")))
