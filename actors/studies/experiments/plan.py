"""The plan of an experiment: every cell with its configuration and its address, before the first one is run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from actors.core.errors import RunDirectoryError, run_directory_error
from actors.core.files import NotJsonError, content_hash, read_json, read_regular, sha256_of, write_json
from actors.factory.config_file import read_config
from actors.factory.domains import build_domain, code_of, is_own, own_code
from actors.factory.file_kinds import EXPERIMENT, telling_kind
from actors.factory.input_files import input_paths, locate_input, with_prompt
from actors.factory.own_code import refuse_unknown
from actors.runs.compatibility import manifest_of
from actors.runs.inputs import with_kept_files
from actors.studies.experiments.run_measures import OwnMeasure, code_of_own, known_measures, load_own
from prism.config import LENGTH_MAX, Config
from prism.config.load import MAPPING_SOURCE
from prism.config.yaml_text import read_document
from prism.errors import ConfigError, SettingError
from prism.experiment.design import Condition, refusal
from prism.experiment.experiment_file import Experiment, key_of_setting, read_experiment
from prism.experiment.hypothesis_tests import Hypothesis
from prism.text_files import decode_text

NOT_PART = ("run", "metrics")
"""The sections of a configuration that change no result, so that they are no part of a cell's address."""


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    condition: str
    seed: int
    key: str  # the hash of all that decides its result: meaning, seed and code of PRISM. Equal keys are one run.
    meaning: str  # the hash of its condition's content: effective settings, input files, and the user's own code
    config: Config
    inputs: dict[str, str]  # `{input file, as the user wrote it: SHA-256}`


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    path: Path  # the file of the experiment
    experiment: Experiment
    cells: tuple[Cell, ...]  # the conditions in the order of the file; for each, the seeds
    own: dict[str, OwnMeasure]  # `{measure: its function}` of the user's own measures
    own_code: dict[str, str]  # `{measure: SHA-256}` of the modules of these measures
    meanings: dict[str, str]  # `{condition: the meaning of its cells}`
    hash: str  # of everything that was planned: question, cells, measures with their code, hypotheses, thresholds


def make_plan(path: Path, model: str | None = None) -> Plan:
    """Return the plan of the experiment in a file: each condition's configuration is read and checked.

    Args:
        model: the model that all conditions ask in place of theirs; None for those of the file.
    """
    text = text_of(path)
    with telling_kind(path, EXPERIMENT):
        experiment = read_experiment(text, str(path), partial(_table, path))
    if model is not None:
        experiment = replace(experiment, settings={**experiment.settings, "llm.model": model})
    try:
        own = {
            name: load_own(place, path.parent, f"measures.{name}")
            for name, place in experiment.measures.items()
            if ":" in place
        }
        base = found_beside(path, experiment.base)
        if not base.exists():
            raise refusal("base", f"no such file: {experiment.base}, beside this file or in {Path.cwd()}")
        cells = tuple(cell for condition in experiment.conditions for cell in _cells(experiment, path, base, condition))
        check_measures(
            {f"measures.{name}": place for name, place in experiment.measures.items()}, (cell.config for cell in cells)
        )
    except SettingError as error:
        raise placed(text, path, error) from error.__cause__
    names = [[cell.condition, cell.seed, cell.key] for cell in cells]
    planned = {
        name: msgspec.to_builtins(getattr(experiment, name))
        for name in ("question", "measures", "hypotheses", "thresholds", "alpha")
    }
    own_code = {name: code_of_own(experiment.measures[name]) for name in own}
    return Plan(
        path=path,
        experiment=experiment,
        cells=cells,
        own=own,
        own_code=own_code,
        meanings={cell.condition: cell.meaning for cell in cells[:: len(experiment.seeds)]},
        hash=sha256(msgspec.json.encode([planned, own_code, names])).hexdigest(),
    )


def parts_of(plan: Plan) -> dict[str, str]:
    """Return `{part of a plan: hash}`. PRISM's own code is in no part: another version asks the same question."""
    experiment, firsts, default = plan.experiment, plan.cells[:: len(plan.experiment.seeds)], Config().llm
    asking = {cell.condition: cell.config for cell in firsts if cell.config.oracle.backend != "choice"}
    parts: dict[str, Any] = {"question": experiment.question, "list of seeds": experiment.seeds}
    if asking:
        prompts = {name: with_prompt(config)[0].llm for name, config in asking.items()}
        parts |= {
            "model": {name: [config.oracle.backend, config.llm.model] for name, config in asking.items()},
            "server": {name: config.llm.host for name, config in asking.items()},
            "prompt": {name: [llm.prompt, llm.order, llm.memory, llm.writes] for name, llm in prompts.items()},
            "parsing": {name: [llm.method, llm.systemone, llm.num_predict] for name, llm in prompts.items()},
        }
    # The meaning of each condition but for the model that it asks and its server, which are parts of their own.
    meanings = dict[str, str]()
    for cell in firsts:
        config = cell.config
        oracle = replace(config.oracle, backend="choice" if config.oracle.backend == "choice" else "ollama")
        config = replace(config, oracle=oracle, llm=replace(config.llm, model=default.model, host=default.host))
        meanings[f"condition {cell.condition}"] = cells_of(config, cell.condition, [cell.seed])[0].meaning
    parts |= {
        **{f"measure {name}": [place, plan.own_code.get(name)] for name, place in experiment.measures.items()},
        **meanings,
        "hypotheses": [experiment.hypotheses, experiment.alpha],
        "thresholds": experiment.thresholds,
    }
    return {name: content_hash(part)[:20] for name, part in parts.items()}


def _cells(experiment: Experiment, path: Path, base: Path, condition: Condition) -> list[Cell]:
    try:
        config = read_config(base, {**experiment.settings, **condition.settings, "metrics.enabled": False})
    except ConfigError as error:
        raise _blamed(experiment, path, condition, error) from error
    return cells_of(config, condition.name, experiment.seeds, ask_once=experiment.oracle.ask_once)


def cells_of(config: Config, condition: str, seeds: Iterable[int], *, ask_once: bool = False) -> list[Cell]:
    """Return the cells of a configuration under seeds."""
    refuse_unknown(own_code(config))
    # The hashes of the input files: those that settings name, or those that a domain of its own reads.
    if is_own(config):
        inputs = dict(build_domain(config).inputs)
    else:
        inputs = {name: sha256_of(locate_input(name)) for name in input_paths(config).values()}
    manifest = manifest_of(config, {}, code_of(config))
    # The condition's content. The seed is no part of it, nor PRISM's own code, nor settings at their defaults: another
    # version of PRISM, which may have more of them, asks the same question. No path of this machine is, either: files
    # are named by their content, and code is hashed.
    unseeded = replace(config.simulation, seed=Config().simulation.seed, domain_path=None)
    settings = _settings(with_kept_files(replace(config, simulation=unseeded), inputs)[0])
    meaning = _hash([other_than(settings, _settings(Config())), sorted(inputs.values()), manifest.domain_code])
    # If requests are asked once, its answers may come from another cell, so its result may differ.
    shares = ask_once and config.oracle.backend != "choice"
    return [
        Cell(
            condition=condition,
            seed=seed,
            key=_hash([meaning, seed, manifest.code, manifest.packages, shares]),
            meaning=meaning,
            config=replace(config, simulation=replace(config.simulation, seed=seed)),
            inputs=inputs,
        )
        for seed in seeds
    ]


def check_measures(places: Mapping[str, str], configs: Iterable[Config], others: Sequence[str] = ()) -> None:
    """Refuse a measure that runs will not have, as far as that is known before them.

    Args:
        places: `{key in the file: measure}`.
        configs: those of the runs; of each domain one is looked at.
        others: measures that are worked out elsewhere, for a suggestion in the error.
    """
    for config in {each.simulation.domain: each for each in configs}.values():
        known = known_measures(config)
        for key, place in places.items():
            problem = "" if known is None or ":" in place else known.problem(place, others)
            if problem:
                raise refusal(key, problem)


def placed(text: str, path: Path, error: SettingError) -> ConfigError:
    return read_document(text, str(path)).refused(error.problem, error.keys[0])


def _blamed(experiment: Experiment, path: Path, condition: Condition, error: ConfigError) -> ConfigError:
    """Return the error of a setting with the line of the file or table that gives it; other errors are unchanged."""
    if error.source != MAPPING_SOURCE or error.key is None:
        return error
    if condition.line is not None and error.key in condition.settings:
        table = str(found_beside(path, experiment.design.file or ""))
        line = condition.header if error.problem.startswith("unknown key") else condition.line
        return ConfigError(table, error.problem, key=error.key, line=line)
    key = key_of_setting(experiment.design, condition, error.key)
    of = f" (condition {condition.name})" if key.startswith("design.factors.") else ""
    return refusal(key, f"{error.problem}{of}")


def settings_hash(config: Config) -> str:
    """Return the hash of the settings that may change a result, whatever code runs them."""
    return _hash(_settings(config))


def other_than(settings: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that are not at their defaults, without sections that are left empty."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        default = defaults.get(name)
        if isinstance(value, dict) and isinstance(default, dict):
            section = other_than(value, default)
            found |= {name: section} if section else {}
        elif value != default:
            found[name] = value
    return found


def _settings(config: Config) -> dict[str, Any]:
    return {name: part for name, part in msgspec.to_builtins(config).items() if name not in NOT_PART}


def _hash(named: object) -> str:
    return content_hash(named)[:20]


def found_beside(path: Path, base: str) -> Path:
    """Return the path of a file that another file names: relative to that file, or else to the current directory."""
    beside = path.parent / base
    return beside if beside.exists() or not Path(base).exists() else Path(base)


def _table(path: Path, name: str) -> tuple[str, str]:
    found = found_beside(path, name)
    return text_of(found, "a CSV file with a condition in each row"), str(found)


def text_of(path: Path, expected: str = "a YAML file with an experiment", page: str = "docs/experiments.md") -> str:
    """Return the text of a file."""
    try:
        return decode_text(read_regular(path, 4 * LENGTH_MAX), str(path))
    except FileNotFoundError:
        raise ConfigError(str(path), f"no such file; expected {expected}: {page}") from None
    except OSError as error:
        raise ConfigError(str(path), f"cannot be read: {error.strerror or error}") from None


PLANS = "plans"


class PlannedCell(msgspec.Struct, frozen=True, array_like=True):
    condition: str
    seed: int
    key: str  # the name of its directory in `cells`


class PlanFile(msgspec.Struct, frozen=True, kw_only=True):
    hash: str  # the hash of all that was planned
    cells_done: int  # the cells that had a result when it was made; 0 of a plan that came before all results
    experiment: Experiment  # as its file had it
    own_code: dict[str, str]  # `{measure: SHA-256}` of the modules of the user's own measures
    meanings: dict[str, str]  # `{condition: hash}` of the content of each
    cells: list[PlannedCell]


def _kept(plan: Plan, cells_done: int) -> PlanFile:
    """Return what is kept of a plan. No place of this machine is: of an absolute path only the name."""
    base = Path(plan.experiment.base)
    named = base.name if base.is_absolute() else plan.experiment.base
    return PlanFile(
        hash=plan.hash,
        cells_done=cells_done,
        experiment=replace(plan.experiment, source=plan.path.name, base=named),
        own_code=plan.own_code,
        meanings=plan.meanings,
        cells=[PlannedCell(cell.condition, cell.seed, cell.key) for cell in plan.cells],
    )


def read_plans(out: Path) -> list[PlanFile]:
    """Return the plans in the directory of an experiment, in the order in which they were made."""
    return [read_json(path, PlanFile) for path in sorted((out / PLANS).glob("*.json"))]


def record_plan(out: Path, plan: Plan, cells_done: int) -> Promised:
    """Write the plan, unless it is there, and return what it has promised."""
    directory = out / PLANS
    try:
        directory.mkdir(exist_ok=True)
        kept = sorted(directory.glob("*.json"))
        if not any(plan.hash[:16] in path.name for path in kept):
            write_json(directory / f"{len(kept) + 1:03d}-{plan.hash[:16]}.json", _kept(plan, cells_done))
    except OSError as error:
        raise run_directory_error(error, f"{directory}: cannot be used") from None
    return promised_so_far(out, plan)


class Promised(NamedTuple):
    """The hypotheses that were planned before the first result."""

    planned: Sequence[Hypothesis] = ()  # those whose measure and conditions meant then what they mean now
    notes: Sequence[str] = ()  # what weakens the p values, a sentence each


def promised_so_far(out: Path, plan: Plan) -> Promised:
    try:
        return promised(read_plans(out), _kept(plan, 0))
    except NotJsonError as error:
        raise RunDirectoryError(f"{out / PLANS}: holds a file that is no plan: {error.strerror}") from None


def promised(plans: Sequence[PlanFile], now: PlanFile) -> Promised:
    """Return what the plans before the first result have promised of a plan."""
    first = [plan for plan in plans if not plan.cells_done]
    then = [_meaning(plan, each) for plan in first for each in plan.experiment.hypotheses]
    planned = [each for each in now.experiment.hypotheses if _meaning(now, each) in then]
    said = [hypothesis for hypothesis, *_ in then]
    notes = list[str]()
    known = set[int]()
    for plan in plans:  # seeds in place of others are added ones, too, also if there are not more of them
        if plan.cells_done and known and not known.issuperset(plan.experiment.seeds) and not notes:
            counts = ", then ".join(str(len({*each.experiment.seeds})) for each in plans)
            notes.append(
                f"seeds were added after there were results ({counts}): p values hold for a number that was fixed "
                "before. Give a replication another directory"
            )
        known.update(plan.experiment.seeds)
    notes += [
        f"removed after there were results: {each.with_test}: p values are not corrected for it"
        for each in (first[-1].experiment.hypotheses if first else ())
        if each not in now.experiment.hypotheses
    ]
    notes += [
        f"exploratory, although it was planned in these words: {each.with_test}: its measure, or the settings, input "
        "files or code of its conditions, those of the base among them, are others than before the first result"
        for each in now.experiment.hypotheses
        if each in said and each not in planned
    ]
    return Promised(planned, notes)


def _meaning(plan: PlanFile, each: Hypothesis) -> tuple[Hypothesis, list[str | None], list[tuple[str, str]]]:
    """Return a hypothesis with all that decides what it means: its measure and its conditions."""
    measure = [plan.experiment.measures[each.measure], plan.own_code.get(each.measure)]
    return each, measure, [(name, plan.meanings[name]) for name in each.contrast]
