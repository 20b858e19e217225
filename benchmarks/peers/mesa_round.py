"""The round of `configs/friends.yaml` as a model of Mesa, without a line of PRISM.

A step of the model is a tick, in which the people who are due take a step: they answer the trigger of their state, as
in the default chart. It is written to be fast. Who is due is kept by tick, so that a tick looks at nobody else; scores
are sums of what people and cascades keep; a person has the timelines of the followers at hand; and who comes online is
drawn with NumPy. Where the same outcome can be had more cheaply than in PRISM, it is: a sample of originals may have
one of them twice, a taste is drawn when it is needed, posts have no texts, and guards that always hold when a delay is
over are not evaluated.

Mesa is imported here: import this module only where it is installed.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from math import exp
from typing import Any, Final

import igraph
import mesa
import numpy as np

TICKS: Final = 24
"""Ticks of a round."""
ARRIVAL_TICKS: Final = 12
"""The first ticks of a round, in which people come online."""
PATIENCE_TICKS: Final = 5
REST_TICKS: Final = 2
DELIBERATION_TICKS: Final = 4
HORIZON_TICKS: Final = 10 * TICKS
"""The age from which a post is not shown any more."""

POSTS_PER_SESSION: Final = 0.12
TOPICS: Final = 8
INTERESTS: Final = 3
TIES: Final = 5
"""The ties with which a person joins the network."""

INSIDE: Final = 4
"""Posts of a feed from people whom one follows, and from others: at most."""
OUTSIDE: Final = 1
TIMELINE: Final = 50
POOL: Final = 20
"""Originals of which the post from out of network is the best."""
SEEN: Final = 55
"""Cascades that a person remembers to have seen."""
ATTENTION: Final = tuple(0.9**place for place in range(INSIDE + OUTSIDE))
"""The probability to look closely at a post, by its place in the feed."""

IDLE: Final = "idle"
SCROLLING: Final = "scrolling"
EVALUATING: Final = "evaluating"
COMPOSING: Final = "composing"
LIKING: Final = "engaging_like"
REPLYING: Final = "engaging_reply"
RESHARING: Final = "engaging_reshare"
RESTING: Final = "resting"
"""The states of a person, as the default chart names them."""
LIKE, RESHARE, REPLY, POST, SCROLL_ON = "like", "reshare", "reply", "post", "scroll on"
ENGAGING: Final = {LIKE: LIKING, RESHARE: RESHARING, REPLY: REPLYING}
"""The state of each action on a post."""


class Cascade:
    """An original and all that comes of it; `heat` is its part of a post's score."""

    __slots__ = ("depth", "engagements", "heat", "popularity", "size", "topic")

    def __init__(self, topic: int) -> None:
        self.topic, self.size, self.depth, self.engagements = topic, 1, 0, 0
        self.popularity = self.heat = 0.0

    def engage(self) -> None:
        """Count a like, reply or reshare."""
        self.engagements += 1
        self.popularity = self.engagements / (self.engagements + 10.0)
        self.heat = 0.5 * self.popularity


class Post:
    """An original, a reply or a reshare."""

    __slots__ = ("author", "cascade", "created", "depth", "likes", "replies", "reshares")

    def __init__(self, author: Person, cascade: Cascade, created: int, depth: int) -> None:
        self.author, self.cascade, self.created, self.depth = author, cascade, created, depth
        self.likes = self.replies = self.reshares = 0

    def grown(self, author: Person, tick: int) -> Post:
        """Return a reply to this post, or a reshare of it: the next post of its cascade."""
        cascade, depth = self.cascade, self.depth + 1
        cascade.size += 1
        cascade.depth = max(cascade.depth, depth)
        return Post(author, cascade, tick, depth)


class Person(mesa.Agent):  # type: ignore[misc]  # of a package that may be missing
    """A person on a social feed."""

    def __init__(
        self,
        model: Round,
        thresholds: tuple[float, float],
        interests: Iterable[int],
        intentions: tuple[float, float],
        eagerness: float,
    ) -> None:
        super().__init__(model)
        self.low, self.high = thresholds
        self.interests = tuple(interests)
        self.taste = [float(topic in self.interests) for topic in range(TOPICS)]
        self.likes, self.likes_or_reshares = intentions
        """The draws up to which a convinced person likes, and up to which they like or reshare."""
        self.eagerness = eagerness
        """The utility that every action has for this person."""
        self.draw = model.random.random
        self.state, self.trigger, self.pending = IDLE, "", SCROLL_ON
        self.timeline: deque[Post] = deque(maxlen=TIMELINE)
        self.audience: list[deque[Post]] = []
        """The timelines of the followers."""
        self.followed: frozenset[Person] = frozenset()
        self.seen: dict[Cascade, None] = {}
        self.session, self.place = -1, -1
        """The round of the latest session, and the place of the post in view."""
        self.feed: Any = None
        self.post: Any = None

    def step(self) -> None:
        """Answer the trigger that is due."""
        getattr(self, self.trigger)()

    def expect(self, trigger: str) -> None:
        """Plan the next trigger for the next tick."""
        self.trigger = trigger
        self.model.next_due.append(self)

    def expect_later(self, trigger: str, ticks: int) -> None:
        """Plan the next trigger for a later tick."""
        self.trigger = trigger
        self.model.agenda[self.model.tick + ticks].append(self)

    def feed_ready(self) -> None:
        """Come online, or go on with the feed after a rest."""
        self.come_online()
        self.scroll()

    def wants_to_post(self) -> None:
        """Come online with something to say."""
        self.come_online()
        self.compose(POST)

    def come_online(self) -> None:
        """Begin a session, unless the one of this round goes on."""
        if self.session != self.model.next_round:
            self.session, self.feed = self.model.next_round, None

    def scroll(self) -> None:
        """Look for the next post."""
        self.state = SCROLLING
        if self.session != self.model.next_round:  # the decision came after the end of the round
            self.expect("round_ends")
            return
        if self.feed is None:
            self.feed, self.place = self.build_feed(), -1
        self.place += 1
        if self.place < len(self.feed):
            self.post = self.feed[self.place]
            self.expect("sees_post")
        else:
            self.expect_later("timeout", PATIENCE_TICKS)

    def sees_post(self) -> None:
        """Look closely or not."""
        self.model.seen += 1
        self.state = EVALUATING
        self.expect("decides" if self.draw() < ATTENTION[self.place] else "ignores")

    def ignores(self) -> None:
        """Scroll on."""
        self.scroll()

    def decides(self) -> None:
        """Scroll on, act, or deliberate if neither is clear."""
        post, cascade = self.post, self.post.cascade
        match, follows = self.taste[cascade.topic], post.author in self.followed
        relevance = 0.2 * match + 0.05 * follows + 0.15 * cascade.popularity + 0.6 * self.draw() ** 3
        if relevance <= self.low:
            self.scroll()
        elif relevance >= self.high:
            draw = self.draw()
            self.compose(LIKE if draw < self.likes else RESHARE if draw < self.likes_or_reshares else REPLY)
        else:
            self.model.questions += 1
            self.pending = self.chosen(match, follows, cascade.popularity)
            self.model.decisions[self.model.tick + DELIBERATION_TICKS].append(self)

    def chosen(self, match: float, follows: bool, popularity: float) -> str:
        """Return the option that a multinomial logit draws."""
        common = match + 0.4 * follows + self.eagerness - 0.6 * self.place / len(self.feed)
        like = exp((common - 1.2 + 0.5 * popularity) / 0.5)
        reshare = exp((common - 1.9 + 0.5 * popularity) / 0.5)
        reply = exp((common - 1.7) / 0.5)
        mark = self.draw() * (1.0 + like + reshare + reply)
        if mark < like:
            return LIKE
        if mark < like + reshare:
            return RESHARE
        return REPLY if mark < like + reshare + reply else SCROLL_ON

    def decided(self) -> None:
        """Do what the deliberation has led to."""
        if self.pending == SCROLL_ON:
            self.scroll()
        elif self.pending == REPLY:
            self.compose(REPLY)
        else:
            self.act(self.pending)

    def compose(self, action: str) -> None:
        """Begin to write."""
        self.state, self.pending = COMPOSING, action
        self.expect("compose_done")

    def compose_done(self) -> None:
        """Publish the original, or go on with the action."""
        if self.pending == POST:
            self.publish()
            self.scroll()
        else:
            self.act(self.pending)

    def act(self, action: str) -> None:
        """Begin an action on the post in view."""
        self.state = ENGAGING[action]
        self.pending = action
        self.expect("action_done")

    def action_done(self) -> None:
        """Let the action take place, and rest."""
        post, model = self.post, self.model
        post.cascade.engage()
        if self.pending == LIKE:
            post.likes += 1
            model.likes += 1
        elif self.pending == RESHARE:
            post.reshares += 1
            model.reshares += 1
            self.send(post.grown(self, model.tick))
        else:
            post.replies += 1
            model.replies += 1
            reply = post.grown(self, model.tick)
            if post.author is not self:
                post.author.timeline.append(reply)
        self.rest()

    def rest(self) -> None:
        """Take a break."""
        self.state = RESTING
        self.expect_later("timeout", REST_TICKS)

    def timeout(self) -> None:
        """Rest after a feed without more posts; after a rest go on with the feed, if there is more of it."""
        if self.state == SCROLLING:
            self.rest()
            return
        self.state = IDLE
        if self.session == self.model.next_round and self.place + 1 < len(self.feed):
            self.expect("feed_ready")

    def round_ends(self) -> None:
        """Go offline, whatever was under way."""
        self.state = IDLE

    def publish(self) -> None:
        """Publish an original on one of the interests."""
        model = self.model
        cascade = Cascade(self.interests[int(self.draw() * INTERESTS)])
        post = Post(self, cascade, model.tick, 0)
        model.cascades.append(cascade)
        model.originals.append(post)
        self.send(post)

    def send(self, post: Post) -> None:
        """Add a post to the timelines of the followers."""
        for timeline in self.audience:
            timeline.append(post)

    def build_feed(self) -> list[Post]:
        """Return the best posts of the timeline and the best one of a sample of the others, each cascade only once."""
        timeline, seen, taste, horizon = self.timeline, self.seen, self.taste, self.model.horizon
        while timeline and timeline[0].created < horizon:
            timeline.popleft()
        inside: dict[Cascade, Post] = {}
        scores: list[float] = []
        for post in reversed(timeline):  # the newest of a cascade, and of equal scores, comes first
            cascade = post.cascade
            if cascade not in seen and cascade not in inside and post.author is not self:
                inside[cascade] = post
                scores.append(taste[cascade.topic] + cascade.heat)
        posts = [*inside.values()]
        ranking = sorted(range(len(posts)), key=scores.__getitem__, reverse=True)[:INSIDE]
        feed = [posts[place] for place in ranking]
        outsider = self.best_outsider(inside)
        if outsider is not None:
            mark = taste[outsider.cascade.topic] + outsider.cascade.heat, outsider.created
            before = [place for place in ranking if (scores[place], posts[place].created) >= mark]
            feed.insert(len(before), outsider)
        for post in feed:
            seen[post.cascade] = None
        while len(seen) > SEEN:
            del seen[next(iter(seen))]
        return feed

    def best_outsider(self, inside: dict[Cascade, Post]) -> Post | None:
        """Return the best of a sample of the originals that are by somebody else and new to the person."""
        originals, seen, taste, followed = self.model.originals, self.seen, self.taste, self.followed
        pool = originals if len(originals) <= POOL else self.random.choices(originals, k=POOL)
        best, highest, newest = None, -1.0, -1
        for post in pool:
            cascade = post.cascade
            score = taste[cascade.topic] + cascade.heat
            if score < highest or (score == highest and post.created <= newest):
                continue
            author = post.author
            if cascade not in seen and cascade not in inside and author not in followed and author is not self:
                best, highest, newest = post, score, post.created
        return best


class Round(mesa.Model):  # type: ignore[misc]
    """People on a social network.

    Args:
        size: how many there are.
        seed: that of all draws.
    """

    def __init__(self, size: int, seed: int = 42) -> None:
        super().__init__(seed=seed)
        self.tick = self.next_round = self.horizon = 0
        self.activations = self.seen = self.questions = 0
        self.likes = self.reshares = self.replies = 0
        self.agenda: defaultdict[int, list[Person]] = defaultdict(list)
        """`{tick: who is due}`."""
        self.next_due: list[Person] = []
        """The people due in the next tick: the list of it in the agenda."""
        self.decisions: defaultdict[int, list[Person]] = defaultdict(list)
        """`{tick: whose deliberation ends}`."""
        self.originals: list[Post] = []
        """Those that may be shown, oldest first."""
        self.cascades: list[Cascade] = []
        self.activity = np.clip(0.35 * np.exp(0.9 * self.rng.standard_normal(size) - 0.9**2 / 2), 0.01, 1.0)
        self.people = self.made_people(size)
        igraph.set_random_number_generator(self.random)
        graph = igraph.Graph.Barabasi(size, TIES)
        for person, ties in zip(self.people, graph.get_adjlist(), strict=True):
            friends = [self.people[tie] for tie in ties]
            person.audience, person.followed = [each.timeline for each in friends], frozenset(friends)

    def made_people(self, size: int) -> list[Person]:
        """Return people with thresholds, interests and traits."""
        rng = self.rng
        threshold = np.clip(0.5 + 0.08 * rng.standard_normal(size), 0.0, 1.0)
        thresholds = np.clip(threshold[:, None] + np.array((-0.05, 0.05)), 0.0, 1.0)
        # the smallest of exponential draws with these rates are a sample without repeats, by weight
        waits = rng.standard_exponential((size, TOPICS)) * np.arange(1, TOPICS + 1)
        interests = np.argsort(waits, axis=1)[:, :INTERESTS]
        traits = rng.choice((-1.0, 1.0), (size, 5)) * (np.argsort(rng.random((size, 5)), axis=1) < 3)  # three of five
        openness, conscientiousness, extraversion, agreeableness, neuroticism = traits.T
        like = 0.65 * np.exp(0.2 * agreeableness)
        reshare = 0.2 * np.exp(0.2 * openness - 0.2 * conscientiousness)
        reply = 0.15 * np.exp(0.3 * extraversion - 0.2 * neuroticism)
        intentions = np.cumsum((like, reshare), axis=0) / (like + reshare + reply)
        eagerness = 0.4 * self.activity + traits @ np.array((0.1, -0.1, 0.2, 0.1, -0.1))
        columns = thresholds, interests, intentions.T, eagerness
        return [Person(self, *row) for row in zip(*(column.tolist() for column in columns), strict=True)]

    def step(self) -> None:
        """Run a tick."""
        self.tick = self.steps - 1
        self.next_round, tick_of_round = self.steps // TICKS, self.tick % TICKS
        if tick_of_round == 0:
            self.begin_round()
        due = self.agenda.pop(self.tick, [])
        if tick_of_round == TICKS - 1:
            due = self.interrupted(due)
        self.next_due = self.agenda[self.tick + 1]
        self.activations += len(due)
        # `AgentSet(due).shuffle_do("step")` does the same, and the whole model takes a quarter more time
        for place in self.rng.permutation(len(due)).tolist():
            due[place].step()
        for person in self.decisions.pop(self.tick, ()):
            person.decided()

    def begin_round(self) -> None:
        """Forget old posts, and draw who comes online, when, and with something to say."""
        self.horizon = self.tick - HORIZON_TICKS
        old = next((place for place, each in enumerate(self.originals) if each.created >= self.horizon), None)
        del self.originals[:old]
        come = np.flatnonzero(self.rng.random(len(self.people)) < self.activity)
        arrivals = self.rng.integers(self.tick, self.tick + ARRIVAL_TICKS, len(come))
        posts = self.rng.random(len(come)) < POSTS_PER_SESSION
        for number, arrival, is_posting in zip(come.tolist(), arrivals.tolist(), posts.tolist(), strict=True):
            person = self.people[number]
            if person.state == IDLE:
                person.trigger = "wants_to_post" if is_posting else "feed_ready"
                self.agenda[arrival].append(person)

    def interrupted(self, due: list[Person]) -> list[Person]:
        """Return who is online and does not deliberate, to go offline now, and clear the agenda."""
        people = [person for each in (due, *self.agenda.values()) for person in each if person.state != IDLE]
        self.agenda.clear()
        for person in people:
            person.trigger = "round_ends"
        return people

    def states(self) -> Counter[str]:
        """Return how many people are in each state."""
        return Counter(person.state for person in self.people)

    @property
    def engagements(self) -> int:
        """Likes, reshares and replies."""
        return self.likes + self.reshares + self.replies

    def run_rounds(self, rounds: int) -> None:
        """Run so many rounds."""
        for _ in range(rounds * TICKS):
            self.step()
