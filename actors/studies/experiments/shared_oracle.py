"""The model behind an experiment: the gateway that its cells ask, their calls, and the cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from actors.store.manifest import read_summary
from actors.studies.experiments.cells import cell_path
from actors.studies.experiments.plan import Plan
from actors.studies.gateway.place import ExperimentTape, GatewayStatistics, Limits, Totals
from prism.agents import FALLBACKS
from prism.config import Config
from prism.errors import ConfigError
from prism.experiment.experiment_file import SharedOracle

if TYPE_CHECKING:
    from actors.studies.gateway.proxy import OpenGateway

TAPE = "tape.sqlite"
CAPS = ("max_calls", "max_tokens", "max_usd")


class Fallen(msgspec.Struct, frozen=True, kw_only=True):
    condition: str
    answered: int  # choices that the model made, over its cells with a result
    fallbacks: int  # those that took the first option, because it did not


class ModelUse(msgspec.Struct, frozen=True, kw_only=True):
    calls: int  # asked of servers for this directory so far, over all its runs
    failed: int  # those without an answer
    prompt_tokens: int
    completion_tokens: int
    usd: float | None  # their cost; None without prices
    # from_tape, shared: requests of this run of the command without a call of their own: their answer was on the tape,
    # or another cell had just asked the same
    from_tape: int
    shared: int
    ask_once: bool  # whether cells share answers
    conditions: list[Fallen]


def asks_model(config: Config) -> bool:
    return config.oracle.backend != "choice" and config.oracle.tape != "replay"


class Asking(NamedTuple):
    """The runs of a study that ask models, and the limits that its file sets for all of them."""

    source: str  # the file, for errors
    oracle: SharedOracle
    configs: Sequence[Config]  # of the runs that ask a model; none if no run does


def asking_of(plan: Plan) -> Asking:
    configs = [cell.config for cell in plan.cells if asks_model(cell.config)]
    return Asking(plan.experiment.source, plan.experiment.oracle, configs)


def limits_of(asking: Asking) -> Limits:
    """Return the limits over all runs: those of the study's file, or else the largest that a run has."""
    section = asking.oracle
    found: dict[str, object] = {}
    for name in ("max_concurrency", "rate_per_s", *CAPS):
        values = [getattr(config.oracle, name) for config in asking.configs]
        found[name] = getattr(section, name)
        if found[name] is None and None not in values:
            found[name] = max(values, default=None)
    prices = (config.llm.prices for config in asking.configs)
    if found["max_usd"] is not None and any(each.input is None or each.output is None for each in prices):
        problem = "expected llm.prices.input and llm.prices.output in every condition, got none"
        raise ConfigError(asking.source, problem, key="oracle.max_usd")
    return msgspec.convert({**found, "ask_once": section.ask_once}, Limits)


@contextmanager
def gateway_of(
    asking: Asking, configs: Sequence[Config], out: Path, tape: Path | None = None
) -> Iterator[OpenGateway | None]:
    """Provide the gateway of an experiment or a calibration; None if no run that is to be made asks a model."""
    left = [config for config in configs if asks_model(config)]
    if not left:
        yield None
        return
    from actors.studies.gateway.proxy import open_gateway  # noqa: PLC0415  # an HTTP client takes 0.1 s to import

    path = out / TAPE if tape is None else tape / TAPE if tape.is_dir() else tape
    with open_gateway(path, limits_of(asking), left, asking.oracle.address, is_replay=tape is not None) as gateway:
        yield gateway


def used_so_far(out: Path) -> Totals:
    """Return the calls that the tape of an experiment's directory has; it may be written to meanwhile."""
    if not (out / TAPE).exists() or not (out / TAPE).stat().st_size:  # the file is being made, or its maker was killed
        return Totals()
    with closing(ExperimentTape(out / TAPE, "look")) as tape:
        return tape.totals


def use_of_model(
    plan: Plan, out: Path, counted: GatewayStatistics | None, *, is_replay: bool = False
) -> ModelUse | None:
    """Return the experiment's use of models so far; None if no cell asks a model.

    Args:
        counted: by the gateway of this run of the command; None if there was none.
        is_replay: whether that gateway has asked no server, and its totals are those of another directory.
    """
    if not any(asks_model(cell.config) for cell in plan.cells):
        return None
    totals = used_so_far(out) if counted is None or is_replay else counted.totals
    prices = [cell.config.llm.prices for cell in plan.cells if asks_model(cell.config)]
    is_priced = all(each.input is not None and each.output is not None for each in prices)
    # For each condition the model's choices and the fallbacks, from the summaries of its cells.
    found: dict[str, Counter[str]] = {}
    for cell in plan.cells:
        sources = read_summary(cell_path(out, cell)).get("decisions_by_source", {})
        found.setdefault(cell.condition, Counter()).update(sources)
    return ModelUse(
        calls=totals.calls,
        failed=totals.failed,
        prompt_tokens=totals.prompt_tokens,
        completion_tokens=totals.completion_tokens,
        usd=totals.usd if is_priced else None,
        from_tape=counted.from_tape if counted else 0,
        shared=counted.shared if counted else 0,
        ask_once=plan.experiment.oracle.ask_once,
        conditions=[
            Fallen(condition=name, answered=counts["llm"], fallbacks=sum(counts[source] for source in FALLBACKS))
            for name, counts in found.items()
        ],
    )
