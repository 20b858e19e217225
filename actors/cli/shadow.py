"""`prism shadow`: asks an oracle about turns that rules settled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import anyio
import click
from rich.console import RenderableType

from actors.cli.command import command
from actors.cli.options import RUN, set_option, with_log_options
from actors.cli.render import show, table
from actors.cli.run_command import with_progress
from actors.cli.trust import TRUST, ask_to_run_code
from actors.runs.directory import RunDirectory
from actors.runs.shadow import shadow
from actors.store.lock import locked
from actors.store.manifest import read_manifest
from actors.store.shadow import SHADOW, ShadowSummary
from prism.divergence import EMBEDDED, ORACLE, RULE

NOTHING_TO_ASK = "none: no rule settled a turn on which the oracle could be asked"


def _check_share(_: click.Context, __: click.Parameter, share: float) -> float:
    """Return the share. A range of click's would let nan pass."""
    if not 0.0 < share <= 1.0:
        raise click.BadParameter(f"{share:g} is not in the range 0<x<=1.")
    return share


@command(name="shadow")
@RUN
@click.option(
    "--share",
    type=float,
    callback=_check_share,
    default=0.05,
    show_default=True,
    metavar="SHARE",
    help="Ask about this share of the turns that a rule settled; above 0, at most 1.",
)
@set_option("oracle.backend=ollama")
@TRUST
@with_log_options
def shadow_command(path: Path, share: float, overrides: Sequence[str]) -> None:
    """Ask an oracle about turns that rules settled, and compare the two.

    It shows whether population.ambiguity leaves a model enough to decide. RUN is the run's directory; the run is
    replayed, and none of its files changes. Asked about are turns that a rule decided, although the oracle decides
    closer cases of them: in the default chart, whether to react to a post. The same turns are asked about each time.

    \b
      prism shadow runs/default-001
      prism shadow runs/default-001 --share 0.01 --set oracle.backend=ollama --set oracle.max_calls=500

    The oracle is that of the run, unless --set names another; its limits and caps count these calls alone.
    A call that fails is not made again. A model's answers are kept in RUN/shadow.sqlite as they arrive: after Ctrl-C
    the same command goes on with them, and asks only for what has no answer. The figures are in RUN/shadow.json.
    """
    directory = RunDirectory(path)
    read_manifest(path)
    ask_to_run_code(path, overrides)
    with locked(path):
        found = anyio.run(partial(with_progress, partial(shadow, directory, share, overrides)))
    last = f"oracle: {found.oracle}; figures in {path / SHADOW}"
    show(found, lambda: [*shadow_view(found), last], brief=str(path / SHADOW))


def shadow_view(shadow: ShadowSummary) -> Iterator[RenderableType]:
    """Yield the distances of an oracle from rules, and the outcomes of the questions."""
    told = [each for each in shadow.divergence if each.questions]
    outcomes = ", ".join(f"{name} {count:,}" for name, count in shadow.outcomes.items()) or NOTHING_TO_ASK
    if not shadow.outcomes and shadow.share < 1.0:
        outcomes += f", in a share of {shadow.share:g} of such turns"
    line = f"  shadow questions: {outcomes}"
    if not told:
        yield line
        return
    agreed = sum(each.agreement * each.questions for each in told) / sum(each.questions for each in told)
    states = Counter(each.trigger for each in told)
    distances, ratios = [], []
    for each in told:
        name = each.trigger if states[each.trigger] == 1 else f"{each.trigger} ({each.state})"
        found = [each.against.get(against) for against in (RULE, EMBEDDED)]
        bits = ("-" if one is None else f"{one.bits:.3f} [{one.low:.3f}, {one.high:.3f}]" for one in found)
        distances.append((name, f"{each.questions:,}", *bits))
        for option, ratio in each.ratios[RULE].items():
            shares = (f"{each.choices[who][option] / each.questions:.2%}" for who in (ORACLE, RULE))
            ratios.append((name, option, *shares, f"{ratio.ratio:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]"))
    columns = ("trigger", ">questions", ">from rule", ">from embedded choice")
    yield table(columns, distances, "distance of the oracle from rules, on shadow questions, in bits")
    heads = ("trigger", "option", ">oracle", ">rule", ">ratio [95%]")
    yield table(heads, ratios, "how often the oracle takes an option, over the rule")
    yield f"{line}; as the rule did: {agreed:.1%}"
