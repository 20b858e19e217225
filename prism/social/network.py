"""The posts of a social network, their delivery to people, and the effects of a like, reply or reshare."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from heapq import nlargest
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from prism.columns import Column, Columns, Ints, Rows, pack, pack_array, pack_items, pack_rows
from prism.config import FeedConfig
from prism.config.interventions import PublishConfig
from prism.config.model import RelevanceConfig
from prism.events import Event, PostEvent
from prism.measure import Measure
from prism.rng import Draw, integer, uniform
from prism.social.cascade import Cascades
from prism.social.effects import Acts, Effect
from prism.social.exposures import Exposures
from prism.social.graph import FollowGraph
from prism.social.interests import Interests, interests_of
from prism.social.living import LivingPosts
from prism.social.originals import Originals
from prism.social.population import Population
from prism.social.post import Post, PostKind, PostView, author_of, origin_of, popularity, post_id, topic_match
from prism.social.quality import drawn_quality
from prism.social.rings import Rings
from prism.social.texts import write_post
from prism.social.ties import ChangedTies

POSTS_A_PIECE = 2048
"""Posts in one piece of a column: one takes as long to encode as twenty numbers."""

POSTS = "Posts by what they are: original, reply or reshare."

DEFAULT_RELEVANCE = RelevanceConfig()

_POST, _LIKE, _REPLY = Effect.POST, Effect.LIKE, Effect.REPLY
_REPLIED, _RESHARED = PostKind.REPLY, PostKind.RESHARE

TOP_POSTS, TOP_OF = 2, 1000
"""Posts that are shown to a person who looks at the run, and the newest originals among which they are found."""


class Witness(Protocol):
    """A witness of what people do to the network, in the order in which they do it."""

    def delivered(self, numbers: Ints, people: Ints) -> None:
        """Note posts, and the person to whom each has come."""

    def published(self, authors: Sequence[int]) -> None:
        """Note that originals have been published."""

    def engaged(self, agents: Sequence[int], cascades: Ints) -> None:
        """Note that each of these people has engaged with the cascade, by its number, at the same place."""


class Network:
    """The posts and timelines.

    A post is pushed to followers when it is made. So to read a feed is to look at a bounded timeline, however many
    people one follows. Posts and cascades older than the horizon are forgotten: memory is bounded in a long run.

    Args:
        population: the people and their ties.
        feed: the settings of the feed.
        seed: the run's seed.
        ticks_per_round: length of a round.
        relevance: the curves of popularity and appeal.
        quality_sigma: the spread of the log of the quality that people share; 0 gives all posts quality 1.
    """

    def __init__(
        self,
        population: Population,
        feed: FeedConfig,
        seed: int,
        ticks_per_round: int,
        relevance: RelevanceConfig = DEFAULT_RELEVANCE,
        quality_sigma: float = 0.0,
    ) -> None:
        self.population = population
        self.feed = feed
        self.seed = seed
        self.ticks_per_round = ticks_per_round
        self.relevance = relevance
        self.cascades = Cascades()
        self.living = LivingPosts(self.cascades)
        """The posts that are not forgotten."""
        self.counts: dict[str, int] = {"posts": 0, "likes": 0, "replies": 0, "reshares": 0}
        self.from_outside = 0
        """Originals that interventions have published."""
        self.events: list[Event] = []
        """The effects since the world was last asked for them, in order."""
        self._made = array("I", bytes(array("I").itemsize * population.size))
        """The posts that each person has made so far: the number of the next one."""
        self.timelines = Rings(population.size, feed.memory)
        """The numbers of the posts that have come to each person."""
        self.seen = Rings(population.size, _seen_kept(feed))
        """The numbers of the cascades that each person has been shown."""
        self.originals = Originals(feed.recent)
        self._begun: dict[tuple[int, bool], int] = {}
        """Originals of a tick so far, by author and whether an intervention published them."""
        self._begun_in = -1
        """The tick."""
        self.ties: FollowGraph | ChangedTies = population.graph
        self._qualities: dict[int, float] = {}
        """`{root: the least appeal of its cascade}` of posts from outside that have one."""
        self._shared: dict[int, float] = {}
        """`{root: the quality of its cascade}`, unless all have 1."""
        self._sigma = quality_sigma
        self._exposures = Exposures(population.size, self.seen.depth, self.cascades)
        self.witness: Witness | None = None
        """The witness of what is done now, if there is one."""
        self._interests: Interests | None = None

    def carry_out(self, acts: Acts, tick: int) -> None:
        """Carry out what people do, in order. What comes to timelines comes there at the end, together."""
        if self.feed.reshare_credit == "newest":  # which depends on what has come to the timeline
            for each in zip(*acts, strict=True):
                self._carry_out([each], tick)
        else:
            self._carry_out(zip(*acts, strict=True), tick)

    def _carry_out(self, acts: Iterable[tuple[int, str, int, str]], tick: int) -> None:
        """Carry out acts, none of which is about a post that another one makes."""
        new, agents, numbers = list[Post](), list[int](), list[int]()
        for agent, effect, number, text in acts:
            if effect == _POST:
                new.append(self._publish(agent, tick, text))
            elif (seen := self.living.get(number)) is not None:
                agents.append(agent)
                numbers.append(number)
                if effect == _LIKE:
                    self._like(agent, seen, tick)
                elif effect == _REPLY:
                    new.append(self._reply(agent, seen, tick, text))
                else:
                    new.append(self._reshare(agent, seen, tick, text))
        if numbers:
            self._engage(agents, self.living.cascades(np.array(numbers, dtype=np.int64)), tick)
        if new:
            self._add(new)

    def publish(self, author: int, tick: int, text: str = "") -> Post:
        """Return a new original post, on a topic of the author's interests, and add it to the followers' timelines.

        Args:
            text: what the author wrote; empty for a sentence from a template, here as for replies and reshares.
        """
        post = self._publish(author, tick, text)
        self._add([post])
        return post

    def _publish(self, author: int, tick: int, text: str) -> Post:
        """Return a new original post."""
        interests = self.population.interests(author)
        topic = interests[integer(len(interests), self.seed, author, tick, Draw.TOPIC)] if interests else ""
        post = self._original(author, tick, (topic,) if topic else (), text)
        if self._sigma:
            self._shared[post.id] = drawn_quality(self.seed, author, tick, self._sigma)
        return post

    def publish_from_outside(self, author: int, tick: int, given: PublishConfig) -> Post:
        """Return a new original post as an intervention gives it, and add it to the timelines of the followers."""
        post = self._original(author, tick, given.topics, given.text, from_outside=True)
        if given.quality:
            self._qualities[post.id] = given.quality
        self.from_outside += 1
        self._add([post])
        return post

    def _add(self, new: Sequence[Post]) -> None:
        """Add new posts, and send each to those who are to see it."""
        originals = [post for post in new if post.parent is None]
        if originals:
            self.cascades.started(*originals)
        first = self.living.add(*new)
        if originals:
            numbers = [number for number, post in enumerate(new, first) if post.parent is None]
            self.originals.extend(numbers, [post.origin for post in originals])
            if self.witness is not None:
                self.witness.published([post.author for post in originals])
        self._deliver([self._receivers(post) for post in new], first)

    def _receivers(self, post: Post) -> Ints | NDArray[np.int32]:
        """Return the people to whom a post is sent: a reply to the author of what it answers, others to followers."""
        if post.kind is not _REPLIED or post.parent is None:
            return self.ties.followers(post.author)
        answered = author_of(post.parent)
        return np.array([answered] if answered != post.author else [], dtype=np.int64)

    def _deliver(self, to: Sequence[Ints | NDArray[np.int32]], first: int) -> None:
        """Add posts to the timelines of those to whom they are sent.

        Args:
            to: the receivers of each; `first`: the number of the first.
        """
        people = np.concatenate(to).astype(np.int64)
        numbers = np.repeat(np.arange(first, first + len(to)), [*map(len, to)])
        self.timelines.add(people, numbers)
        if self.witness is not None:
            self.witness.delivered(numbers, people)

    def use(self, feed: FeedConfig, relevance: RelevanceConfig) -> None:
        """Use other settings of the feed, and of the curves of popularity and appeal, from now on."""
        self.feed, self.relevance = feed, relevance
        self.originals.part_size = feed.recent
        self.timelines.depth = feed.memory
        self.seen.depth = max(self.seen.depth, _seen_kept(feed))  # what was seen under larger settings stays seen
        self._exposures.remember(self.seen.depth)

    def change_tie(self, follower: int, followee: int, *, follows: bool) -> None:
        """Let a person follow another one from now on, or not. Posts that are in a timeline stay there."""
        if not isinstance(self.ties, ChangedTies):
            self.ties = ChangedTies(self.ties)
        self.ties.change(follower, followee, follows=follows)

    def like(self, agent: int, liked: int, tick: int) -> None:
        """Carry out a like of a post, by its id. Nothing comes of it if the post has been forgotten."""
        self.carry_out(Acts([agent], [Effect.LIKE], [self.living.number(liked)], [""]), tick)

    def reply(self, author: int, answered: int, tick: int, text: str = "") -> None:
        """Carry out a reply in the same way."""
        self.carry_out(Acts([author], [Effect.REPLY], [self.living.number(answered)], [text]), tick)

    def reshare(self, author: int, shared: int, tick: int, text: str = "") -> None:
        """Carry out a reshare in the same way."""
        self.carry_out(Acts([author], [Effect.RESHARE], [self.living.number(shared)], [text]), tick)

    def _like(self, agent: int, post: Post, tick: int) -> None:
        """Add a person's like to a post."""
        post.likes += 1
        self.counts["likes"] += 1
        self.events.append(PostEvent(tick, agent, "like", post.id))

    def _reply(self, author: int, parent: Post, tick: int, text: str) -> Post:
        """Return a new reply to a post, in the cascade of that."""
        reply = self._child(author, tick, _REPLIED, parent, text)
        self.cascades.grown(reply)
        parent.replies += 1
        self.counts["replies"] += 1
        self.events.append(PostEvent(tick, author, "reply", reply.id, parent.id))
        return reply

    def _reshare(self, author: int, seen: Post, tick: int, text: str) -> Post:
        """Return a new reshare of a post. It becomes a child of the post that `feed.reshare_credit` says."""
        parent = self._credited(author, seen)
        reshare = self._child(author, tick, _RESHARED, parent, text)
        self.cascades.grown(reshare)
        parent.reshares += 1
        self.counts["reshares"] += 1
        self.events.append(PostEvent(tick, author, "reshare", reshare.id, parent.id))
        return reshare

    def _credited(self, author: int, seen: Post) -> Post:
        """Return the post that a reshare of a seen post becomes a child of. Of what is forgotten, none can be."""
        if self.feed.reshare_credit == "root":
            return self.post(seen.root) or seen
        if self.feed.reshare_credit == "newest":
            copies = (self.living.get(each) for each in reversed(self.timelines.of(author)))
            return next((copy for copy in copies if copy is not None and copy.root == seen.root and copy.is_copy), seen)
        return seen

    def _engage(self, agents: Sequence[int], cascades: Ints, tick: int) -> None:
        """Count engagements, and who has them, where cascades are shown again to those who have not."""
        self.cascades.engaged(cascades, tick)
        if self.witness is not None:
            self.witness.engaged(agents, cascades)
        if self.feed.exposure != "once":
            for agent, cascade in zip(agents, cascades.tolist(), strict=True):
                self._exposures.engaged(agent, cascade)

    def text(self, post: Post) -> str:
        """Return the text of a post: what its author wrote, or a sentence from a template."""
        if post.text:
            return post.text
        topic = post.topics[0] if post.topics else "this"
        return write_post(post.kind, topic, self.seed, post.author, post.created)

    def post(self, post: int) -> Post | None:
        """Return a post by its id; None if it is forgotten."""
        return self.living.get(self.living.number(post))

    @property
    def posts(self) -> dict[int, Post]:
        """`{id: post}` of all that are not forgotten, oldest first: a new dictionary."""
        return {post.id: post for post in self.living}

    def show(self, readers: Ints, lengths: Ints, numbers: Ints) -> None:
        """Remember that people were shown posts: so many each, one after the other."""
        cascades = self.living.cascades(numbers)
        self.seen.extend(Rows(readers, lengths, cascades))
        if self.feed.exposure != "once":
            self._exposures.show(Rows(readers, lengths, self.living.ids(numbers)), cascades)

    def are_shown_again(self, readers: Ints, rows: Ints, numbers: Ints) -> NDArray[np.bool_]:
        """Return whether posts of seen cascades, by number, may be shown: each to the reader in its row."""
        if self.feed.exposure == "once":
            return np.zeros(len(rows), dtype=np.bool_)
        cascades, authors = self.living.cascades(numbers), self.living.authors(numbers)
        found = self._exposures.are_new(readers, rows, cascades, authors)
        at = np.flatnonzero(found)
        found[at] = self.ties.follow(readers[rows[at]], authors[at])
        return found

    def qualities(self, numbers: Ints) -> NDArray[np.float64]:
        """Return what the cascades of these posts are worth to everybody."""
        if not self._shared:
            return np.ones(len(numbers))
        posts = map(self.living.get, numbers.tolist())
        return np.array([1.0 if post is None else self._shared.get(post.root, 1.0) for post in posts])

    def with_quality(self, numbers: Ints, appeals: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return people's appeals, each at least the quality that an intervention gave the post's cascade."""
        if self._qualities:
            for place, post in enumerate(map(self.living.get, numbers.tolist())):
                if post is not None and post.root in self._qualities:
                    appeals[place] = max(appeals[place], self._qualities[post.root])
        return appeals

    def matches(self, people: Ints, codes: Ints) -> NDArray[np.float64]:
        """Return the share of topics, by code, that are among each person's interests."""
        if self._interests is None:
            self._interests = interests_of(self.population.personas)
        return self._interests.matches(people, codes, self.living.topics)

    def view(self, agent: int, viewed: int, tick: int, fatigue: float, viewed_ticks: int = 0) -> PostView | None:
        """Return a person's view of a post; None once the post is forgotten.

        Args:
            viewed_ticks: ticks since the post came into view.
        """
        post = self.post(viewed)
        return None if post is None else self.view_of(agent, post, tick, fatigue, viewed_ticks)

    def view_of(self, agent: int, post: Post, tick: int, fatigue: float, viewed_ticks: int) -> PostView:
        """Return a person's view of a post that is not forgotten, as `view` does."""
        population = self.population
        exposures = self.exposures(agent, post)
        return PostView(
            id=post.id,
            author=post.author,
            author_name=population.name(post.author),
            text=self.text(post),
            topics=post.topics,
            age_ticks=tick - post.created,
            likes=post.likes,
            replies=post.replies,
            reshares=post.reshares,
            velocity=post.velocity(tick, self.ticks_per_round),
            popularity=popularity(self.cascades.engagements_of(post.root), self.relevance.popularity_half),
            followed=self.ties.follows(agent, post.author),
            topic_match=topic_match(population.interests(agent), post.topics),
            appeal=self._appeal(agent, post, exposures),
            fatigue=fatigue,
            quality=self._shared.get(post.root, 1.0),
            exposures=exposures,
            origin=post.origin,
            viewed_ticks=viewed_ticks,
        )

    def exposures(self, agent: int, post: Post) -> int:
        """Return how many people have shown the person the cascade of a post, up to this post: 1 or more."""
        return 1 if self.feed.exposure == "once" else self._exposures.count(agent, post)

    def exposures_of(self, people: Ints, numbers: Ints) -> Ints:
        """Return `exposures` of these people and posts, by number."""
        if self.feed.exposure == "once":
            return np.ones(len(people), dtype=np.int64)
        return self._exposures.counts(people, self.living.ids(numbers), self.living.cascades(numbers))

    def measures(self) -> list[Measure]:
        """Return the number of posts by kind, and of likes."""
        kinds = {"original": "posts", "reply": "replies", "reshare": "reshares"}
        counter = partial(Measure, kind="counter")
        return [
            *(
                counter(name="prism_posts_total", help=POSTS, labels={"kind": kind}, value=self.counts[name])
                for kind, name in kinds.items()
            ),
            counter(name="prism_likes_total", help="Likes given.", value=self.counts["likes"]),
        ]

    def highlights(self) -> list[str]:
        """Return the largest cascade, and those of the latest originals whose cascades have the most engagements."""
        largest, lines = self.cascades.largest, []
        if largest.size:
            root = self.post(largest.root)
            what = "" if root is None else f": {self._said(root)}"
            lines.append(f"largest cascade, {largest.size:,} posts, {largest.depth:,} deep{what}")
        living = [
            (self.cascades.engagements_of(post.id), number, post)
            for number in self.originals.newest(TOP_OF)
            if (post := self.living.get(number)) is not None and self.cascades.engagements_of(post.id)
        ]
        top = nlargest(TOP_POSTS, living, key=lambda each: (each[0], each[2].id))
        return lines + [f"{count:,} engagements: {self._said(post)}" for count, _, post in top]

    def _said(self, post: Post) -> str:
        return f'{self.population.name(post.author)}, "{self.text(post)}"'

    def retire(self, tick: int) -> None:
        """Forget posts older than the horizon, and cascades without an engagement for twice as long.

        A remembered post always has its cascade, because the post was an engagement when it joined.
        """
        horizon = tick - self.feed.horizon_rounds * self.ticks_per_round
        self.living.forget(horizon)
        self.originals.drop_before(self.living.first)
        if self._qualities or self._shared:
            alive = {post.root for post in self.living}
            self._qualities = {root: quality for root, quality in self._qualities.items() if root in alive}
            self._shared = {root: quality for root, quality in self._shared.items() if root in alive}
        self.cascades.retire(horizon - self.feed.horizon_rounds * self.ticks_per_round)

    def columns(self) -> Iterator[Column]:
        """Yield every post and the posts that each person has seen, for `restore`."""
        authors = np.flatnonzero(self._made)
        yield from pack_array("made.key", authors)
        yield from pack_array("made", authors, np.asarray(self._made).__getitem__)
        yield from pack("posts", self.living, POSTS_A_PIECE)
        yield from pack_items("counts", self.counts)
        yield from pack("from_outside", [self.from_outside])
        yield from self._timelines()
        yield from self._roots_seen()
        yield from self.cascades.columns()
        if self._qualities:
            yield from pack_items("qualities", self._qualities)
        if self._shared:
            yield from pack_items("shared_qualities", self._shared)
        yield from self._exposures.columns()

    def restore(self, columns: Columns) -> None:
        """Take over the network that these columns hold."""
        np.asarray(self._made)[columns.array("made.key")] = columns.array("made")
        posts = columns.values("posts", Post)
        self.counts = columns.items("counts", str, int)
        self.from_outside = columns.value("from_outside", int)
        timelines, seen = columns.rows("timelines"), columns.rows("seen")
        self.cascades = Cascades()
        self.cascades.restore(columns)
        self._exposures = Exposures(self.population.size, self.seen.depth, self.cascades)
        self.living, self.originals = LivingPosts(self.cascades), Originals(self.feed.recent)
        self.living.add(*posts)
        originals = [(number, post.origin) for number, post in enumerate(posts) if post.kind is PostKind.ORIGINAL]
        self.originals.extend([number for number, _ in originals], [origin for _, origin in originals])
        numbers = self.living.numbers(timelines.values)
        known = timelines._replace(values=numbers)
        self.timelines.fill(known.only(numbers >= 0))
        self.seen.fill(seen._replace(values=self.cascades.numbers(seen.values)))
        if "qualities" in columns.unread:
            self._qualities = columns.items("qualities", int, float)
        if "shared_qualities" in columns.unread:
            self._shared = columns.items("shared_qualities", int, float)
        self._exposures.restore(columns)

    def _appeal(self, agent: int, post: Post, exposures: int) -> float:
        """Return a person's taste for a cascade, which is at least the quality that an intervention gave it.

        In simple contagion each exposure is a chance of its own, so each after the first has a draw of its own.
        """
        chance = exposures - 1 if self.feed.exposure == "simple" else 0
        unit = uniform(self.seed, agent, chance, Draw.APPEAL, post.origin)
        drawn = min(1.0, math.pow(unit, self.relevance.appeal_power) * self._shared.get(post.root, 1.0))
        return max(drawn, self._qualities[post.root]) if post.root in self._qualities else drawn

    def _timelines(self) -> Iterator[Column]:
        """Yield the ids of the posts that have come to each person and are not forgotten, oldest first."""
        for rows in self.timelines.blocks():
            known = rows.only(rows.values >= self.living.first)
            yield from pack_rows("timelines", known._replace(values=self.living.ids(known.values)))

    def _roots_seen(self) -> Iterator[Column]:
        """Yield the roots of the cascades that each person has been shown, with NO_POST for a forgotten one."""
        root_of = self.cascades.roots()
        for rows in self.seen.blocks():
            yield from pack_rows("seen", rows._replace(values=root_of(rows.values)))

    def _original(
        self, author: int, tick: int, topics: tuple[str, ...], text: str, *, from_outside: bool = False
    ) -> Post:
        """Return a new original."""
        if self._begun_in != tick:
            self._begun_in = tick
            self._begun.clear()
        number = self._begun.get((author, from_outside), 0)
        self._begun[author, from_outside] = number + 1
        origin = origin_of(author, tick, number, from_outside=from_outside)
        new = self._next_id(author)
        self.counts["posts"] += 1
        self.events.append(PostEvent(tick, author, "publish", new, None, topics))
        return Post(id=new, author=author, text=text, topics=topics, created=tick, root=new, origin=origin)

    def _child(self, author: int, tick: int, kind: PostKind, parent: Post, text: str) -> Post:
        """Return a new reply or reshare."""
        new = self._next_id(author)
        return Post(
            id=new,
            author=author,
            text=text,
            topics=parent.topics,
            created=tick,
            root=parent.root,
            kind=kind,
            parent=parent.id,
            depth=parent.depth + 1,
            origin=parent.origin,
        )

    def _next_id(self, author: int) -> int:
        new = post_id(author, self._made[author])
        self._made[author] += 1
        return new

    def round_start(self, tick: int) -> int:
        """Return the first tick of a tick's round."""
        return tick - tick % self.ticks_per_round


def _seen_kept(feed: FeedConfig) -> int:
    """Return the number of cascades that a person remembers to have seen.

    A post lives for its own round and the horizon. A person who remembers that many feeds sees no post twice.
    """
    return max(feed.memory, feed.size * (feed.horizon_rounds + 1))
