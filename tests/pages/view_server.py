"""`prism view` in a process of its own, and runs for it that take no time to make."""

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from actors.core.frames import RunningDigest
from actors.core.messages import Message
from actors.runs.compatibility import manifest_of
from actors.runs.directory import RunDirectory
from actors.store.disk import RealDisk
from actors.store.journal import JOURNAL, create_journal, header_of
from actors.store.oracle_log import LoggedAnswer, create_answers, encode_answer
from prism.config import load_config
from prism.social.posts.post import PostView
from tests.payloads import Payloads

PRISM = (sys.executable, "-m", "actors.cli")


@contextmanager
def serving(root: Path, started_in: Path | None = None, command: str = "view") -> Iterator[str]:
    """Serve the runs in a directory, or with `play` a configuration; yield the address, without a path."""
    words = (*PRISM, command, str(root), "--port", "0")
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=started_in) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://[\d.:]+", process.stdout.readline())
            assert found is not None
            yield found[0]
        finally:
            process.terminate()


def write_run(
    path: Path,
    settings: Sequence[str],
    ticks: Sequence[Sequence[Message]],
    answers: Sequence[LoggedAnswer] = (),
) -> Path:
    """Write the files of a run with these messages in its ticks, as if it had been killed after the last.

    Args:
        settings: over those of the default configuration, as in `population.size=100`.
    """
    path.mkdir(parents=True)
    config = load_config(overrides=settings, environment={})
    directory, disk = RunDirectory(path), RealDisk(path, syncs=False)
    directory.write_config(config)
    directory.write_manifest(manifest_of(config, {}))
    agents = config.population.size if config.simulation.domain == "social" else len(config.economy.nations)
    payloads, digest, encode = Payloads(PostView), RunningDigest(), msgspec.msgpack.encode
    create_journal(disk, header_of(config, {}, agents, "0.1.0", payloads.shapes))
    for tick, messages in enumerate(ticks):
        disk.append(JOURNAL, digest.add(payloads.of(tick, messages)))
    create_answers(disk)
    for answer in answers:
        disk.append("oracle.log", encode_answer(encode(answer)))
    disk.close()
    return path
