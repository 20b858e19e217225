"""Equal questions at temperature 0 are one call, and a replay settles them all the same.

In the social domain no two people are shown the same: their taste is part of the question. So these people all have one
name and one character, and the oracle tells the model nothing of the post.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any, Literal

from actors.factory.domains import build_domain
from actors.runtime.simulation import Simulation
from prism.config import Config
from prism.llm import OllamaChatClient, SocialModelOracle, Tape, TapedModel
from prism.statechart import AgentState
from prism.statechart.oracle import Answer
from tests.standin import Latency, ModelServer, ServerSettings
from tests.wire.support import config


class Anybody:
    """Somebody of whom the model is told nothing that tells them from others."""

    name, interests, personality = "somebody", ("science",), "calm"

    def __init__(self, agent: Any) -> None:
        self.state, self.agent_id, self.tick = agent.state, agent.agent_id, agent.tick


class Discreet(SocialModelOracle):
    """A model's oracle that asks the same question for everybody."""

    def key(self, agent: Any, trigger: str, options: Sequence[str], context: Any = None) -> Hashable | None:
        return super().key(Anybody(agent), trigger, options)

    async def answer(
        self, agent: Any, current_state: AgentState, trigger: str, options: Sequence[AgentState], context: Any = None
    ) -> Answer:
        return await super().answer(Anybody(agent), current_state, trigger, options)


async def run(chosen: Config, tape: Path, mode: Literal["record", "replay"]) -> Simulation:
    model = TapedModel(OllamaChatClient(chosen.llm, {}), Tape(tape, mode), mode)
    simulation = Simulation(chosen, build_domain(chosen).domain, Discreet(model, chosen.llm, seed=1))
    try:
        await simulation.run()
    finally:
        await model.aclose()
    return simulation


async def test_equal_questions_share_a_call_and_its_recorded_answer(tmp_path: Path) -> None:
    tape = tmp_path / "tape.sqlite"
    with ModelServer(ServerSettings(latency=Latency(mean_s=0.02))) as server:
        chosen = config(server.url, llm={"temperature": 0.0, "systemone": "off"})
        recorded = await run(chosen, tape, "record")
    replayed = await run(chosen, tape, "replay")
    asked = recorded.oracle.statistics
    assert asked.coalesced > 0
    assert asked.calls + asked.coalesced == recorded.counters.questions
    assert len(server.calls) < recorded.counters.questions
    assert replayed.engine.digest.hexdigest() == recorded.engine.digest.hexdigest()
