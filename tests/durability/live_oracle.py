"""A run with a model that answers differently every time, and a witness of what its processes commit and ask."""

from pathlib import Path

from actors.core.frames import Damage
from actors.store.disk import RealDisk
from actors.store.journal import JOURNAL
from actors.store.oracle_log import ANSWERS, MAGIC, read_answers
from prism.rng import Draw, integer
from tests.durability.process_runs import whole_ticks
from tests.standin import ModelServer

LIVE = """
simulation: {{rounds: {rounds}, ticks_per_round: 24, seed: 5}}
population: {{size: 100, ambiguity: 0.3, activity: {{mean: 0.9, sigma: 0.1}}}}
oracle: {{backend: ollama, max_concurrency: 8}}
llm: {{host: "{host}", systemone: "off", timeout_s: 120.0}}
run: {{checkpoint_every_ticks: 4}}
"""
"""A hundred undecided people, asked about by chat: above temperature 0 each question has a seed of its own."""

_SEEDS = 2**31


class LiveWitness:
    """A witness of a run's files at its kills, and of the requests to the server since then.

    The seed of a request follows from the agent and the tick, so it identifies the question.
    """

    def __init__(self, run: Path, server: ModelServer) -> None:
        self._run = run
        self._server = server
        self._journal = b""
        self._answers = b""
        self._known: set[int] = set()
        """The seeds of all questions whose answer is logged."""
        self._heard = 0
        """The number of the last call that was checked."""

    def faults(self) -> list[str]:
        """Return the faults of the run as it is now, compared with the last call."""
        problems = self._asked_again()
        if not (self._run / JOURNAL).exists():
            return problems
        journal, answers = self._whole_journal(), self._whole_answers()
        if not journal.startswith(self._journal):
            problems.append("a committed tick has changed")
        if not answers.startswith(self._answers):
            problems.append("a logged answer has changed")
        self._journal, self._answers = journal, answers
        seeds = self._seeds()
        self._known = set(seeds)
        if len(self._known) != len(seeds):
            problems.append("a question has two answers in the log")
        return problems

    def _asked_again(self) -> list[str]:
        """Return the fault of requests since the last call for answers that were logged by then."""
        new = [call for call in self._server.calls if (call.call or 0) > self._heard]
        self._heard = new[-1].call or 0 if new else self._heard
        again = [seed for call in new if (seed := _seed_of(call.body)) in self._known]
        return [f"{len(again)} logged answers were asked for again"] if again else []

    def _whole_journal(self) -> bytes:
        data, damage = (self._run / JOURNAL).read_bytes(), whole_ticks(self._run)[1]
        return data if damage is None else data[: damage.offset]

    def _whole_answers(self) -> bytes:
        end = len(MAGIC)
        for record in read_answers(RealDisk(self._run), end):
            if isinstance(record, Damage):
                break
            end = record[1]
        return (self._run / ANSWERS).read_bytes()[:end]

    def _seeds(self) -> list[int]:
        records = read_answers(RealDisk(self._run), len(MAGIC))
        decided = [record[0] for record in records if not isinstance(record, Damage)]
        return [integer(_SEEDS, 0, each.agent, each.asked, Draw.SERVER_SEED) for each in decided]


def _seed_of(body: object) -> object:
    """Return the seed in a request's body; None for the warm-up, which asks no question."""
    options = body.get("options") if isinstance(body, dict) else None
    return options.get("seed") if isinstance(options, dict) else None
