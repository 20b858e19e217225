"""Small simulations with metrics."""

from collections.abc import Callable, Mapping
from typing import Any

from actors.metrics.exposition import Exposition, Lifecycle
from actors.metrics.observer import Metrics
from actors.runtime.engine import EngineActor
from actors.runtime.simulation import Simulation
from deploy.scrape import Scrape
from prism.config import Config
from prism.domain import Domain
from prism.social.domain import SocialDomain
from prism.social.people.population import build_population
from prism.statechart import Oracle
from tests.actors.social_runs import SMALL
from tests.schedules import run_scheduled


class Watched:
    """A simulation with metrics.

    Args:
        config: what is simulated.
        domain: of what; by default the social one.
        oracle: who answers; by default the embedded one.
        engine: makes the engine.
    """

    def __init__(
        self,
        config: Config = SMALL,
        domain: Domain | None = None,
        oracle: Oracle[Any] | None = None,
        engine: Callable[..., EngineActor] = EngineActor,
    ) -> None:
        self.metrics = Metrics(config, "small-001")
        if domain is None:
            domain = SocialDomain(config, build_population(config.population, config.simulation.seed))
        self.simulation = Simulation(config, domain, oracle, observer=self.metrics, engine=engine)
        self.exposition = Exposition(Lifecycle())
        self.exposition.add_run(self.metrics)

    def text(self) -> str:
        """Return the text of a scrape."""
        return self.exposition.render().decode()

    def scrape(self) -> Scrape:
        """Return the numbers of a scrape."""
        return Scrape.parse(self.text(), 0.0)


def finished(watched: Watched, schedule: int = 0) -> Scrape:
    """Return the metrics of a simulation after its end."""
    run_scheduled(schedule, watched.simulation.run)
    return watched.scrape()


def series(scrape: Scrape) -> set[tuple[str, frozenset[tuple[str, str]]]]:
    """Return every series of the run itself."""
    return {key for key in scrape.samples if key[0].startswith("prism_")}


def value(text: str, name: str, labels: Mapping[str, str] | None = None) -> float:
    """Return one number on a page."""
    return Scrape.parse(text, 0.0).value(name, **(labels or {}))
