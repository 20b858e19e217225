"""`prism validate`: checks a configuration and its input files, without running them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import anyio

from actors.cli.building import build_with_progress
from actors.cli.command import command, flag
from actors.cli.forecast import deliberation
from actors.cli.options import choose_config, with_settings
from actors.cli.render import show
from actors.cli.trust import TRUST
from actors.display.words import duration
from actors.factory.config_file import placing, read_config
from actors.factory.domains import lines_of_domain, no_effect_of
from actors.factory.oracle_backends import check_oracle
from prism.config import Config
from prism.domain import said_by
from prism.llm.prompt import NEEDED
from prism.no_effect import told


@command()
@with_settings
@TRUST
@flag(
    "--forecast",
    "foretells",
    help="Rehearse the beginning without a model, and say about how much time it takes, and how many "
    "calls, tokens, dollars and hours of a model.",
)
@flag("--prompt", "prompts", help="Show the prompt of the run's first question, and what was filled in.")
def validate(config: Path | None, overrides: Sequence[str], *, foretells: bool, prompts: bool) -> None:
    """Check a configuration and its files, and say what would be run.

    CONFIG is chosen as for `prism run`. All that a run makes before its first tick is made here, too. --prompt asks no
    model: it shows what one would be asked. A mistake is one line that names the file, the key and the line, and what
    was expected; the exit code is then 3.
    """
    path = choose_config(config, "checking")
    settings = read_config(path, overrides)
    with placing(path, overrides):
        built = build_with_progress(settings)
        if settings.metrics.enabled:
            from actors.metrics.access import check_access  # noqa: PLC0415  # most runs serve nothing

            check_access(settings.metrics)
        check_oracle(settings)
    simulation, deliberates = settings.simulation, deliberation(settings)
    length = f"{simulation.rounds:,} rounds of {simulation.ticks_per_round} ticks ({simulation.length:,} ticks)"
    idle = told(no_effect_of(settings, built.domain))
    notes = [*said_by(built.domain).understood, *lines_of_domain(settings, built.domain), *idle]
    expected = dict[str, str]()  # the needs of the run of this machine and of a model, each in words
    if foretells:
        from actors.cli.forecast import rows  # noqa: PLC0415  # it runs a simulation: most checks need none
        from actors.runs.forecast import forecast  # noqa: PLC0415

        estimate = forecast(settings)
        seconds = settings.simulation.length * estimate.tick_s
        expected["this machine"] = f"about {duration(seconds)} to run without a model"
        if settings.oracle.backend == "choice":
            expected[""] = "oracle.backend is choice, which asks no model; a model would be asked as follows"
        expected |= rows(settings, estimate)
    prompt = _prompt(settings) if prompts else []
    lines = [
        f"{path}: ok: {built.domain.size:,} agents, {length}, seed {simulation.seed}, oracle {settings.oracle.backend}",
        *(f"{name}: ok: sha256 {sha256}" for name, sha256 in built.inputs.items()),
        *(notes if deliberates is None else [*notes, deliberates]),
        *(f"{name}: {text}" if name else text for name, text in expected.items()),
        *(line for part, text in prompt for line in (f"--- {part}", text)),
    ]
    record = {"config": path, "agents": built.domain.size, "ticks": simulation.length, "seed": simulation.seed}
    record |= {"oracle": settings.oracle.backend, "inputs": built.inputs, "notes": notes, "forecast": expected}
    record["prompt"] = [{"part": part, "text": text} for part, text in prompt]
    show(record, lambda: lines)


def _prompt(config: Config) -> list[tuple[str, str]]:
    """Return the roles and texts of the first prompt of a run, and last the texts that were filled in."""
    from actors.runs.forecast import MeasuringModel, first_question  # noqa: PLC0415  # as above
    from prism.llm.oracle import SocialModelOracle  # noqa: PLC0415

    asked = first_question(config)
    if asked is None:
        return [("prompt", "the beginning of the run has no question")]
    oracle = asked.domain.oracle(model := MeasuringModel())
    anyio.run(asked.put_to, oracle)
    parts: list[tuple[str, str]] = [(message.role, message.content) for message in model.messages]
    if not isinstance(oracle, SocialModelOracle):
        return parts
    prompt = oracle.prompt(*asked.question)
    texts = {name: prompt.value(name) for name in prompt.template.placeholders if name not in NEEDED}
    filled = [f"{{{name}}}: {text}" for name, text in texts.items() if text]
    return [*parts, (f"filled in: template {prompt.template.sha256[:12]}", "\n".join(filled))]
