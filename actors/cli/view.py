"""`prism view` and `prism play`: local pages of runs, and of a world that answers a changed setting."""

from __future__ import annotations

import os
import webbrowser
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from actors.cli.command import command, count_option, flag, option
from actors.cli.options import TRUST, Directory, choose_config, require, run_name, with_settings
from actors.cli.render import show
from actors.core.errors import RunDirectoryError

if TYPE_CHECKING:
    from actors.view.app import Site

HOST: Final = "127.0.0.1"
TOKEN: Final = "PRISM_VIEW_TOKEN"  # noqa: S105  # the name of the variable, not its value
F = TypeVar("F", bound=Callable[..., Any])


def with_address(port: int) -> Callable[[F], F]:
    """Return a decorator that gives a command the options for the address of its page: `host`, `port`, `opens`."""
    host = option("--host", default=HOST, help="Address to listen on; others than this machine need a token.")
    ports = count_option("--port", least=0, most=65_535, metavar=None, default=port, help="Port; 0 for a free one.")
    opens = flag("--open", "opens", help="Open the page in the browser.")
    return lambda command: host(ports(opens(command)))


def serve_page(site: Site, host: str, port: int, *, opens: bool, then: Callable[[], object] = lambda: None) -> None:
    """Serve a page until a signal ends it; once it is ready print its address, and call `then`."""
    from actors.view.server import serve  # noqa: PLC0415  # it takes long to import, and no other command needs it

    def ready(address: str) -> None:
        show({"address": address}, lambda: [f"prism {site.name}: {address}  (Ctrl-C ends it)"], brief=address)
        if opens:
            webbrowser.open(address)
        then()

    serve(site, host, port, os.environ.get(TOKEN, ""), ready)


@command()
@click.argument("root", metavar="[RUN_OR_DIR]", default="runs", type=Directory("run or directory", packed=True))
@with_address(8480)
def view(root: Path, host: str, port: int, *, opens: bool) -> None:
    """Serve a local web page that shows runs and experiments.

    RUN_OR_DIR is a directory with runs (default: runs), one run, or an experiment. The page also follows runs that are
    under way. It only reads, so it is never in a run's way, and runs no code that you have not run here before. Ctrl-C
    ends it.

    An address that others can reach demands a token: that in PRISM_VIEW_TOKEN, or a random one, which is printed.
    """
    from actors.store.manifest import refuse_others  # noqa: PLC0415
    from actors.store.run import run_paths  # noqa: PLC0415  # `play` has no use for them
    from actors.studies.experiments.record import is_experiment  # noqa: PLC0415
    from actors.view.app import Site  # noqa: PLC0415  # it takes a second to import, and no other command needs it
    from actors.view.explainer import EXPLAIN  # noqa: PLC0415

    if not is_experiment(root):
        refuse_others(root)
    try:
        run_paths(root)
    except OSError as error:
        raise RunDirectoryError(f"{root}: cannot be listed: {error.strerror}") from None

    with suppress(KeyboardInterrupt):
        serve_page(Site(root, EXPLAIN), host, port, opens=opens)


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
        from actors.display.progress import PREPARING, step_shown  # noqa: PLC0415
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
