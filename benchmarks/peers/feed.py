"""Rounds of a social feed: PRISM in all of its ways, the same world in a plain loop, and a round written with Mesa.

The plain loop has PRISM's world, charts and oracle, and neither engine nor mailboxes, codec, supervisor, digest or
metrics. It ends with the same world, which is checked. There are two models of Mesa: the same round, in
`benchmarks.peers.mesa_round`, and here a smaller one, without cascades, deliberation and ticks within a round.
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from time import process_time
from typing import Any, Final, NamedTuple

import anyio
import igraph

from actors.factory.config_file import read_config
from actors.factory.domains import build_domain
from actors.runtime.simulation import Simulation
from benchmarks.peers.systems import Sizes, System, Values, peer
from prism.agents import Decision, Question, Source, StatefulAgent, Trigger, Update, turn
from prism.agents.waves import Updates
from prism.config import Config
from prism.domain import Domain
from prism.social.choice import ChoiceOracle

PEOPLE: Final = 1000
TOPICS: Final = 8
SLOW: Final = 5
"""Slow systems run for this part of the rounds, which still takes seconds."""


class Done(NamedTuple):
    """The counts of a system so far."""

    activations: int
    seen: int
    engagements: int


class Meter:
    """Measures the rounds of a system after its warm-up.

    Args:
        done: returns the counts of the system so far.
    """

    def __init__(self, done: Callable[[], Done]) -> None:
        self._done = done
        self._begun = process_time()

    def end_warm_up(self) -> None:
        self._warm_s, self._warm = process_time() - self._begun, self._done()
        self._begun = process_time()

    def values(self, person_rounds: int) -> Values:
        seconds, done, warm = process_time() - self._begun, self._done(), self._warm
        activations, seen, engagements = (after - before for after, before in zip(done, warm, strict=True))
        return {
            "us a person and round": seconds / person_rounds * 1e6,
            "us an activation": seconds / activations * 1e6,
            "us an activation of the warm-up": self._warm_s / max(1, warm.activations) * 1e6,
            "us a post seen": seconds / seen * 1e6,
            "activations": activations,
            "posts seen": seen,
            "engagements": engagements,
            "s in all": seconds,
        }


def measure_prism(way: str, sizes: Sizes) -> Values:
    """Return the values of a run of `configs/friends.yaml` without a journal; building people does not count."""
    return _run(way, PEOPLE, sizes.warm, sizes.rounds // (SLOW if way == "resident" else 1))


def measure_crowd(way: str, sizes: Sizes) -> Values:
    """Return the values of a run of very many people."""
    return _run(way, sizes.crowd, sizes.crowd_warm, sizes.crowd_rounds)


def _run(way: str, people: int, warm: int, rounds: int) -> Values:
    settings = [f"run.activation={way}", f"population.size={people}", f"simulation.rounds={warm + rounds}"]
    config = read_config("configs/friends.yaml", settings)
    simulation = Simulation(config, build_domain(config).domain)
    counters, ticks = simulation.counters, config.simulation.ticks_per_round

    def done() -> Done:
        seen = sum(count for (_, _, trigger, _), count in counters.rows.items() if trigger == "sees_post")
        return Done(counters.activations, seen, _engagements(simulation.domain))

    meter = Meter(done)

    async def after_round() -> None:
        if simulation.tick == warm * ticks:
            meter.end_warm_up()

    anyio.run(simulation.run, None, after_round, ticks)
    return meter.values(people * rounds)


def _engagements(domain: Domain) -> int:
    totals = domain.world.totals()
    return int(totals["likes"] + totals["replies"] + totals["reshares"])


class PlainLoop:
    """The loop over ticks, agents and questions that a run is without its runtime.

    Args:
        domain: the world, its people and their chart.
        config: the length, the deliberation and the weights of the embedded oracle.
    """

    def __init__(self, domain: Domain, config: Config) -> None:
        self.activations = self.seen = 0
        self._domain, self._world, self._chart = domain, domain.world, domain.chart
        self._config = config
        self._agents: dict[int, StatefulAgent[Any]] = {}
        self._oracle = ChoiceOracle(config.oracle.choice, config.simulation.seed)
        self._open: dict[int, list[tuple[Question[Any], str]]] = {}
        """`{tick: the questions whose decisions take effect in it, each with what was decided}`."""

    async def run(self, after_tick: Callable[[int], None] = lambda _: None) -> None:
        """Run all ticks.

        Args:
            after_tick: called with the number of ticks done.
        """
        for tick in range(self._config.simulation.length):
            triggers = self._world.triggers(tick)
            while True:
                self.activations += len(triggers)
                await self._exchange(triggers)
                due = self._open.pop(tick, [])
                if due:
                    await self._exchange([_decided(question, state, tick) for question, state in due])
                triggers = self._world.reactions(tick)
                if not triggers:
                    break
            self._world.take_rows()
            after_tick(tick + 1)

    async def _exchange(self, triggers: Iterable[Trigger[Any]]) -> None:
        """Let each agent take its turn, and apply the answers in the order of agents."""
        agents, chart, updates, questions = self._agents, self._chart, list[Update[Any]](), list[Question[Any]]()
        for trigger in triggers:
            agent = agents.get(trigger.agent)
            if agent is None:
                agent = agents[trigger.agent] = self._domain.agent(trigger.agent)
            self.seen += trigger.name == "sees_post"
            answer = turn(chart, agent, trigger)
            if isinstance(answer, Question):
                questions.append(answer)
            else:
                updates.append(answer)
        for question in sorted(questions, key=_agent):
            self._world.deliberates(question)
            await self._ask(question)
        if updates:
            self._world.apply_all(Updates.of(sorted(updates, key=_agent)))

    async def _ask(self, question: Question[Any]) -> None:
        due, person = question.tick + self._config.deliberation_ticks, self._domain.asker(question)
        options = [type(person.state)(option) for option in question.options]
        state = await self._oracle.ask(person, person.state, question.trigger, options, question.context)  # type: ignore[arg-type]
        self._open.setdefault(due, []).append((question, state.value))


def _agent(answer: Update[Any] | Question[Any]) -> int:
    return answer.agent


def _decided(question: Question[Any], state: str, tick: int) -> Trigger[Any]:
    decision = Decision(state, Source.ORACLE, question.tick)
    return Trigger(tick, question.agent, question.trigger, question.context, decision)


def measure_plain_loop(sizes: Sizes) -> Values:
    """Return the values of the same rounds in a plain loop."""
    rounds = sizes.rounds // SLOW
    config = read_config("configs/friends.yaml", [f"simulation.rounds={sizes.warm + rounds}"])
    domain: Any = build_domain(config).domain
    domain.prepare(domain.size * config.simulation.length)  # as a run does: kernels are compiled where that is worth it
    loop = PlainLoop(domain, config)
    meter = Meter(lambda: Done(loop.activations, loop.seen, _engagements(domain)))
    end = sizes.warm * config.simulation.ticks_per_round
    anyio.run(loop.run, lambda tick: meter.end_warm_up() if tick == end else None)
    return meter.values(PEOPLE * rounds)


class Post:
    """A post of the smaller model."""

    __slots__ = ("author", "engagements", "made", "topic")

    def __init__(self, author: int, topic: int, made: int) -> None:
        self.author, self.topic, self.made, self.engagements = author, topic, made, 0


class Person:
    """A person with a timeline, interests and a threshold; all draws come from the model's generator."""

    model: Any

    def settle(self, number: int, ties: list[int]) -> None:
        """Draw the person's traits. Ties go both ways: those who are followed follow back."""
        random = self.model.random
        self.number, self.followers, self.followed = number, ties, frozenset(ties)
        self.activity = min(1.0, random.lognormvariate(-1.45, 0.9))
        self.threshold = random.gauss(0.5, 0.08)
        self.interests = frozenset(random.sample(range(TOPICS), 3))
        self.timeline: deque[Post] = deque(maxlen=50)
        self.shown: set[Post] = set()

    def step(self) -> None:
        """Come online or not; then look at the best posts, act on some of them, and perhaps publish one."""
        draw = self.model.random.random
        if draw() >= self.activity:
            return
        for post in self.feed():
            self.model.seen += 1
            self.shown.add(post)
            if self.relevance(post) + 0.6 * draw() ** 3 >= self.threshold:
                self.act(post, draw())
        if draw() < 0.12:
            self.spread(Post(self.number, self.model.random.choice(sorted(self.interests)), self.model.round))

    def feed(self) -> list[Post]:
        """Return the posts with the highest scores, of the timeline and of a sample of recent ones: each only once."""
        recent = self.model.recent
        sample = self.model.random.sample(recent, min(20, len(recent)))
        posts = {post for post in (*self.timeline, *sample) if post.author != self.number}
        return sorted(posts - self.shown, key=self.score, reverse=True)[: self.model.feed_size]

    def score(self, post: Post) -> float:
        """Return the rank of a post: its relevance, less with its age."""
        age: int = self.model.round - post.made
        return self.relevance(post) / (1 + age)

    def relevance(self, post: Post) -> float:
        """Return the worth of a post, without the person's own taste for it."""
        popularity = post.engagements / (post.engagements + 10)
        return 0.2 * (post.topic in self.interests) + 0.05 * (post.author in self.followed) + 0.15 * popularity

    def act(self, post: Post, draw: float) -> None:
        """Like, reshare or reply."""
        post.engagements += 1
        self.model.engagements += 1
        if 0.65 <= draw < 0.85:
            self.spread(post)

    def spread(self, post: Post) -> None:
        """Put a post on the timelines of the followers."""
        people: list[Person] = self.model.people
        for follower in self.followers:
            people[follower].timeline.append(post)
        self.model.recent.append(post)


def mesa_model(mesa: Any, feed_size: int, people: int = PEOPLE) -> Any:
    """Return a model of Mesa whose `step` is a round."""

    class Feed(mesa.Model):  # type: ignore[misc]
        """People on a network like PRISM's default one."""

        def __init__(self) -> None:
            super().__init__(seed=42)
            self.feed_size, self.round, self.seen, self.engagements = feed_size, 0, 0, 0
            self.recent: deque[Post] = deque(maxlen=1000)
            graph, make = igraph.Graph.Barabasi(people, 5), type("MesaPerson", (Person, mesa.Agent), {})
            self.people = [make(self) for _ in range(people)]
            for number, person in enumerate(self.people):
                person.settle(number, graph.neighbors(number))

        def step(self) -> None:
            """Run a round: each person once, in an order drawn anew."""
            self.round += 1
            self.agents.shuffle_do("step")

    return Feed()


def measure_mesa(feed_size: int, sizes: Sizes) -> Values:
    """Return the values of as many rounds of the smaller model; an activation is one `step` of one person."""
    return _run_smaller(feed_size, PEOPLE, sizes.warm, sizes.rounds // SLOW)


def measure_mesa_crowd(feed_size: int, sizes: Sizes) -> Values:
    """Return the values of rounds of very many people in the smaller model."""
    return _run_smaller(feed_size, sizes.crowd, sizes.crowd_warm, sizes.crowd_rounds)


def _run_smaller(feed_size: int, people: int, warm: int, rounds: int) -> Values:
    model = mesa_model(peer("mesa"), feed_size, people)
    with _collector_off():
        meter = Meter(lambda: Done(people * model.round, model.seen, model.engagements))
        for number in range(warm + rounds):
            if number == warm:
                meter.end_warm_up()
            model.step()
        return meter.values(rounds * people)


def measure_mesa_round(sizes: Sizes) -> Values:
    """Return the values of the same rounds with Mesa; an activation is a trigger, as in PRISM."""
    return _run_round(PEOPLE, sizes.warm, sizes.rounds)


def measure_mesa_round_crowd(sizes: Sizes) -> Values:
    """Return the values of the same rounds of very many people with Mesa."""
    return _run_round(sizes.crowd, sizes.crowd_warm, sizes.crowd_rounds)


def _run_round(people: int, warm: int, rounds: int) -> Values:
    peer("mesa")
    model = peer("benchmarks.peers.mesa_round").Round(people)
    with _collector_off():
        meter = Meter(lambda: Done(model.activations, model.seen, model.engagements))
        model.run_rounds(warm)
        meter.end_warm_up()
        model.run_rounds(rounds)
        return meter.values(people * rounds)


@contextmanager
def _collector_off() -> Iterator[None]:
    """Turn garbage collection off in the block: a model of Mesa with 100,000 people then takes a third less time.

    PRISM keeps its own objects out of collections too, so this is what a careful user of Mesa would do.
    """
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _prism(way: str) -> Callable[[Sizes], Values]:
    return partial(measure_prism, way)


SYSTEMS: Final = {
    "PRISM, resident": System(_prism("resident")),
    "PRISM, compiled": System(_prism("compiled")),
    "plain loop, same world": System(measure_plain_loop),
    "Mesa, the same round": System(measure_mesa_round, "mesa"),
    "Mesa, a smaller model, feed of 5": System(partial(measure_mesa, 5), "mesa"),
    "Mesa, a smaller model, feed of 20": System(partial(measure_mesa, 20), "mesa"),
}

CROWD: Final = {
    "PRISM, compiled": System(partial(measure_crowd, "compiled")),
    "PRISM, resident": System(partial(measure_crowd, "resident")),
    "Mesa, the same round": System(measure_mesa_round_crowd, "mesa"),
    "Mesa, a smaller model, feed of 5": System(partial(measure_mesa_crowd, 5), "mesa"),
    "Mesa, a smaller model, feed of 20": System(partial(measure_mesa_crowd, 20), "mesa"),
}
