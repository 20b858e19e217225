"""`prism play`: serves a local page on which a changed setting reruns the world at once."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import click

from actors.cli.command import command, option
from actors.cli.options import TRUST, Directory, choose_config, require, run_name, with_settings
from actors.cli.view import serve_page, with_address


@command()
@with_settings
@option(
    "--tape",
    type=Directory(),
    metavar="RUN",
    help="Let the recorded answers of a run's model decide; a choice without one is counted.",
)
@with_address(8481)
@TRUST
def play(
    config: Path | None, overrides: Sequence[str], tape: Path | None, host: str, port: int, *, opens: bool
) -> None:
    """Change a setting on a local page, and see the whole world answer.

    CONFIG is chosen as for `prism run`. Each move of a slider reruns the world with the same people and the same draws,
    then under other seeds. Nothing is written but what you keep: a run or an experiment. No model is asked: the
    embedded choice decides. Ctrl-C ends it, with all its processes.

    An address that others can reach demands a token: that in PRISM_VIEW_TOKEN, or a random one, which is printed.
    """
    from actors.playground.place import begun  # noqa: PLC0415
    from actors.runs.signals import ended_by_signals  # noqa: PLC0415

    require(["scipy"], "prism play has intervals by scipy")
    with (
        ended_by_signals(),
        begun() as place,
        ExitStack() as steps,
    ):  # first: its processes make themselves ready while the rest is imported
        from actors.display.work import PREPARING, step_shown  # noqa: PLC0415
        from actors.factory.config_file import read_config  # noqa: PLC0415
        from actors.playground.app import PlaySite  # noqa: PLC0415
        from actors.runs.directory import TAPE  # noqa: PLC0415
        from actors.store.manifest import CONFIG, MANIFEST  # noqa: PLC0415
        from prism.llm.tape import Tape  # noqa: PLC0415

        if tape is not None:
            Tape(tape / TAPE, "look").close()  # refuses what is no tape before the page begins
            overrides = [*overrides, "oracle.tape=replay", f"oracle.tape_path={tape / TAPE}"]
        if config is not None and (config / MANIFEST).exists():
            problem = f"{config} is the directory of a run: expected a configuration, such as {config / CONFIG}; with"
            raise click.UsageError(f"{problem} --tape {config} the recorded answers of its model decide")
        path = choose_config(tape / CONFIG if tape is not None and config is None else config, "playing with")
        title = run_name(path) if tape is None or config is not None else tape.resolve().name
        site = PlaySite(read_config(path, overrides), title, place)

        def tell_step() -> None:
            if site.compiles:
                steps.enter_context(step_shown(PREPARING))
                site.opening.add_done_callback(lambda _: steps.close())

        with suppress(KeyboardInterrupt):
            serve_page(site, host, port, opens=opens, then=tell_step)
