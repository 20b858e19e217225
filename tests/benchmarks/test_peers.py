"""The parts of the benchmarks with peers that do what PRISM does, and need no peer."""

from random import Random

import anyio

from actors.factory.config_file import read_settings
from actors.factory.domains import build_domain
from actors.runtime.simulation import Simulation
from benchmarks.peers import mailboxes
from benchmarks.peers.feed import PlainLoop
from benchmarks.peers.schelling import CHART, PEOPLE, SIDE, Board, Mood, has_enough, prism
from prism.agents import StatefulAgent


async def test_the_plain_loop_does_what_a_run_does() -> None:
    config = read_settings(["population.size=60", "simulation.rounds=4", "population.ambiguity=0.4"])
    run, domain = build_domain(config).domain, build_domain(config).domain
    simulation = Simulation(config, run)
    await simulation.run()
    loop = PlainLoop(domain, config)
    await loop.run()
    assert simulation.counters.questions > 0
    assert loop.activations == simulation.counters.activations
    assert domain.world.totals() == run.world.totals()


async def test_both_channels_bring_each_answer_to_its_asker() -> None:
    with anyio.fail_after(60):
        assert await mailboxes.round_trips(mailboxes.PolledChannel(0), 5, 3) > 0
        assert await mailboxes.round_trips(mailboxes.MailboxChannel(), 5, 3) > 0


def test_in_schellings_model_everybody_ends_among_enough_of_the_own_group() -> None:
    board = Board(Random(3))
    people = [StatefulAgent(each, Mood.UNHAPPY) for each in range(PEOPLE)]
    before = sum(has_enough(each, board) for each in people)
    while any(each.state is Mood.UNHAPPY for each in people):
        for each in people:
            CHART.fire(each, "looks", board)
    assert before < sum(has_enough(each, board) for each in people)
    assert len({*board.place, *board.empty}) == SIDE**2
    assert [board.group[place] for place in board.place] == [each.agent_id % 2 for each in people]
    assert prism(3)[0] > 1
