"""`prism pack` and `prism unpack`: one file of a run, what is refused of a stranger's, and a pack that is looked at."""

import gzip
import json
import os
import re
import signal
import subprocess
import tarfile
from contextlib import closing
from io import BytesIO
from pathlib import Path
from tarfile import FIFOTYPE, LNKTYPE, REGTYPE, SYMTYPE, TarInfo

import pytest

from actors.store.disk import RealDisk
from actors.store.lock import locked
from actors.store.manifest import CONFIG
from actors.store.segments import segment_columns
from actors.studies.gateway.place import ExperimentTape, Totals
from prism.llm.headers import Replied
from tests.catalogue import catalogue
from tests.command import Prism, begin, prism_alone, short_of_room
from tests.patience import wait_until

NAME = '13:05:00 st*r q?"<>| żółw #1'
"""The name of an input, which can be packed."""
TIES = "".join(f"{one} {(one + each) % 30}\n" for one in range(30) for each in (1, 2, 5))


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return the pack of a run with a graph, and with settings of one machine."""
    place = tmp_path_factory.mktemp("packed")
    (place / NAME).write_text(TIES)
    (place / "ca.pem").write_text("")
    (place / "c.yaml").write_text(
        f"simulation: {{rounds: 2, ticks_per_round: 12}}\npopulation: {{graph: {{path: {json.dumps(NAME)}}}}}\n"
        f"llm: {{ca_file: {place / 'ca.pem'}}}\nmetrics: {{username: ada}}\n"
    )
    assert prism_alone("run", str(place / "c.yaml"), "-q", "--out", str(place / "feed")).code == 0
    assert "ada" in (place / "feed" / CONFIG).read_text()
    ended = prism_alone("pack", str(place / "feed"), "--out", str(place / "feed.prism"))
    assert (ended.code, ended.err) == (0, "")
    return (place / "feed.prism").read_bytes()


@pytest.fixture
def prism(packed: bytes, prism: Prism) -> Prism:
    """Return a function that runs the command line in a directory that holds the pack `feed.prism`."""
    Path("feed.prism").write_bytes(packed)
    return prism


@pytest.fixture
def feed(prism: Prism) -> Path:
    """Return the directory of the pack."""
    ended = prism("unpack", "feed.prism")
    assert (ended.code, ended.out.startswith("feed: 8 files")) == (0, True)
    return Path("feed")


def refused(prism: Prism, run: str, told: str) -> None:
    """Check that a directory is not packed."""
    ended = prism("pack", run, "--out", "leak.prism")
    assert (ended.code, told in ended.err) == (2, True), ended
    assert not Path("leak.prism").exists()


def test_what_is_unpacked_is_what_was_packed_without_settings_of_one_machine(feed: Path, prism: Prism) -> None:
    assert prism("verify", "feed").code == 0
    for path in feed.rglob("*"):
        assert path.is_dir() or b"/ca.pem" not in path.read_bytes()
    assert "username: null" in (feed / CONFIG).read_text()
    before = Path("feed.prism").read_bytes()
    assert prism("pack", "feed", "--out", "again.prism").code == 0
    assert before == Path("again.prism").read_bytes()
    assert "feed: exists already; name another directory with --out" in prism("unpack", "feed.prism").err
    assert "feed.prism: exists already; name another file with --out" in prism("pack", "feed").err
    assert before == Path("feed.prism").read_bytes()


def test_a_packed_run_is_replayed_and_verified_as_it_is_and_leaves_nothing(
    prism: Prism, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    assert prism("replay", "feed.prism").out.startswith("feed.prism: 24 ticks replayed, every one as recorded; digest ")
    assert "feed.prism/journal.prism: ok: 24 ticks" in prism("verify", "feed.prism", "--quick").out
    assert [*place.iterdir()] == []
    for command in ("resume", "audit", "pack"):  # commands that write to a run
        ended = prism(command, "feed.prism")
        assert ended.code == 2
        assert "feed.prism is a packed run; make its directory first with: prism unpack feed.prism" in ended.err


def test_what_could_not_be_unpacked_or_is_in_use_or_has_a_key_is_not_packed(
    feed: Path, prism: Prism, monkeypatch: pytest.MonkeyPatch
) -> None:
    with locked(feed):
        refused(prism, "feed", f"feed: is in use by process {os.getpid()} on ")
    for other in ("two\nlines", "\x1b[2J", os.fsdecode(b"latin-\xe9")):
        feed = feed.rename(other)
        refused(prism, other, "cannot be packed: its pack names")
    feed = feed.rename("feed")
    with Path(feed, "summary.json").open("a") as summary:
        summary.write("\n a-key-in-an-answer\n")
    for variable in ("PRISM_LLM_API_KEY", "OPENAI_API_KEY"):
        with monkeypatch.context() as patched:
            patched.setenv(variable, "a-key-in-an-answer")
            told = f"feed/summary.json: has the value of ${variable} in it, so it is not packed; if it is no secret, un"
            refused(prism, "feed", told)


def test_what_is_behind_a_symbolic_link_is_not_packed(feed: Path, prism: Prism, tmp_path: Path) -> None:
    (kept,) = feed.glob(f"inputs/*/{NAME.replace('*', '[*]').replace('?', '[?]')}")
    for place in (feed / "summary.json", kept, feed / "inputs"):
        place.rename(tmp_path / "elsewhere")
        place.symlink_to(tmp_path / "elsewhere")
        refused(prism, "feed", f"prism: {place}: is a symbolic link, so it is not packed")
        place.unlink()
        (tmp_path / "elsewhere").rename(place)
    Path("study/cells").mkdir(parents=True)
    Path("study/cells/a").symlink_to(feed.resolve())
    refused(prism, "study", "prism: study/cells/a: is a symbolic link, so it is not packed")


def test_a_study_is_packed_with_its_paid_answers_and_each_input_once(prism: Prism) -> None:
    for cell in ("a", "b"):
        prism("unpack", "feed.prism", "--out", f"study/cells/{cell}")
    Path("study/audit").mkdir()
    Path("study/audit/audit.json").write_text("{}", encoding="utf-8")
    tape, said = ExperimentTape(Path("study/tape.sqlite"), "record"), Replied(body="an answer", is_answer=True)
    tape.write(b"k", said, "", Totals())
    assert prism("pack", "study").code == 0  # its gateway was killed: the tape was not closed
    tape.close()
    assert prism("unpack", "study.prism", "--out", "again").code == 0
    one, other = (path for path in Path("again").glob("cells/*/inputs/*/*") if path.name == NAME)
    assert one.samefile(other)
    assert (one.stat().st_mode & 0o777, prism("verify", "again/cells/b").code) == (0o444, 0)
    assert Path("again/audit/audit.json").read_bytes() == b"{}"
    with closing(ExperimentTape(Path("again/tape.sqlite"), "replay")) as kept:
        assert kept.read(b"k") == said


@pytest.mark.slow
def test_a_key_is_found_in_what_the_journal_has_compressed(prism: Prism, monkeypatch: pytest.MonkeyPatch) -> None:
    assert prism("run", "small.yaml", "-q", "--out", "run", "--set", "run.segment_mb=0.001").code == 0
    segment = min(Path("run").glob("*.seg"))
    disk = RealDisk(Path("run"))
    tables = segment_columns(disk, segment.name, None)[1].values()
    columns = [
        values.data.tobytes() for table in tables for values in table.columns.values() if hasattr(values, "ends")
    ]
    texts = {text for column in columns for text in re.findall(rb"[a-z_]{8,}", column)}
    disk.close()
    text = min(text for text in texts if all(text not in path.read_bytes() for path in Path("run").glob("*.seg")))
    for path in Path("run").glob("*"):
        if path.is_file() and path.suffix != ".seg" and path.name not in {CONFIG, "manifest.json", "journal.prism"}:
            path.unlink()  # they may have the word as it is
    monkeypatch.setenv("PRISM_LLM_API_KEY", text.decode())
    refused(prism, "run", ".seg: has the value of $PRISM_LLM_API_KEY in it")


def member(name: str, content: bytes = b"", kind: bytes = REGTYPE, to: str = "") -> tuple[TarInfo, bytes]:
    found = TarInfo(name)
    found.size, found.type, found.linkname = len(content), kind, to
    return found, content


def sparse(name: str, size: int) -> tuple[TarInfo, bytes]:
    """Return a file of one block, and of zeros to its size, which are not in the archive."""
    found, content = member(name, bytes(512))
    told = {"major": "0", "minor": "1", "name": name, "size": str(size), "numblocks": "1", "map": "0,512"}
    found.pax_headers = {f"GNU.sparse.{key}": value for key, value in told.items()}
    return found, content


OUTSIDE = "expected a file in a directory"


@catalogue(
    ("members", "told"),
    [
        ([member("feed/../../x")], f"names 'feed/../../x'; {OUTSIDE}"),
        ([member("/tmp/x")], f"names '/tmp/x'; {OUTSIDE}"),
        ([member(".ssh/x")], f"names '.ssh/x'; {OUTSIDE}"),
        ([member("feed")], f"names 'feed'; {OUTSIDE}"),
        ([member("feed/" * 99 + "x")], OUTSIDE),
        ([member("feed/a\x1b[2J")], "names 'feed/a\\x1b[2J'; expected UTF-8 without control characters"),
        ([member("feed/a"), member("other/b")], "other/b is no plain file in feed"),
        ([member("feed/a", kind=SYMTYPE, to="/etc/passwd")], "feed/a is no plain file in feed"),
        ([member("feed/a", kind=LNKTYPE, to="/etc/passwd")], "feed/a is no plain file in feed"),
        ([member("feed/a", kind=FIFOTYPE)], "feed/a is no plain file in feed"),
        ([member("feed/a"), member("feed/a")], "File exists"),
        ([member("feed/a"), member("feed/a/b")], "File exists"),
        ([member("feed/a", bytes(70_000_000))], "it unpacks to more than 67,108,864 bytes"),
        ([sparse("feed/a", 10**12)], "feed/a is no plain file in feed"),
        ([], "it is empty"),
    ],
)
def test_a_strangers_archive_is_one_line_and_leaves_nothing(
    members: list[tuple[TarInfo, bytes]], told: str, prism: Prism, tmp_path: Path
) -> None:
    with tarfile.open("feed.prism", "w:gz", compresslevel=1) as archive:
        for each, content in members:
            archive.addfile(each, BytesIO(content))
    ended = prism("unpack", "feed.prism", "--out", str(tmp_path / "inner" / "feed"))
    assert (ended.code, ended.err.count("\n"), told in ended.err) == (2, 1, True), ended
    assert ended.err.startswith("prism: feed.prism: ")
    assert [*tmp_path.rglob("*")] in ([], [tmp_path / "inner"])


def test_headers_of_headers_are_one_line(prism: Prism) -> None:
    header = TarInfo("feed/a")
    header.pax_headers = {"path": "feed/a"}
    Path("feed.prism").write_bytes(gzip.compress(header.tobuf(tarfile.PAX_FORMAT)[:1024] * 3000))
    ended = prism("unpack", "feed.prism")
    assert (ended.code, ended.err.count("\n")) == (2, 1), ended.err
    assert "is damaged, or no file of `prism pack`" in ended.err


@catalogue("bit", range(3, 4000, 1201))
def test_a_flipped_bit_is_found(bit: int, packed: bytes, prism: Prism) -> None:
    flipped = bytearray(packed)
    flipped[bit * len(packed) // 4001] ^= 0x10
    Path("feed.prism").write_bytes(flipped)
    ended = prism("unpack", "feed.prism")
    # A bit in the header of gzip that says nothing of the content, such as the time, changes nothing.
    assert ended.code == 2 or prism("verify", "feed").code == 0
    assert ended.code == 0 or ended.err.count("\n") == 1


def test_a_full_disk_leaves_no_part_of_a_pack(prism: Prism, tmp_path: Path) -> None:
    ended = short_of_room(5_000, "unpack", "feed.prism", "--out", "full", cwd=tmp_path)
    assert ended.returncode == 1
    said = "File too large; raise ulimit -f, then run the same command again\n"
    assert ended.stderr.endswith(f"cannot be unpacked: {said}")
    prism("unpack", "feed.prism")
    ended = short_of_room(5_000, "pack", "feed", "--out", "full.prism", cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (1, f"prism: full.prism: cannot be packed: {said}")
    assert [path.name for path in tmp_path.iterdir() if "full" in path.name] == []


@pytest.mark.everyday(1)
@pytest.mark.parametrize(("command", "kind"), [("replay", signal.SIGTERM), ("view", signal.SIGHUP)])
def test_a_signal_removes_the_unpacked_copy(command: str, kind: signal.Signals, prism: Prism, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    options, environment = ["--port", "0"] * (command == "view"), {"TMPDIR": str(temporary)}
    process = begin(command, "feed.prism", *options, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL)
    wait_until(lambda: any(temporary.glob("prism-*/feed/manifest.json")) or process.poll() is not None)
    process.send_signal(kind)
    said = process.communicate()[1]
    expected = {0, 128 + kind} if command == "view" else {128 + kind}
    assert (process.returncode in expected, "Traceback" in said) == (True, False), (process.returncode, said)
    assert [*temporary.iterdir()] == []
