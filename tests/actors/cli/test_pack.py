"""`prism pack` and `prism unpack`: one file of a run, what is refused of a stranger's, and a pack that is looked at."""

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import tarfile
from contextlib import closing
from io import BytesIO
from pathlib import Path
from tarfile import FIFOTYPE, LNKTYPE, REGTYPE, SYMTYPE, TarInfo

import pytest

from actors.store.disk import RealDisk
from actors.store.lock import locked
from actors.store.manifest import CONFIG
from actors.store.segments import texts_of
from actors.studies.gateway.tape import ExperimentTape, Totals
from prism.llm.gateway import Replied
from tests.actors.explain.nested_runs import nested_run
from tests.catalogue import catalogue
from tests.command import Prism, prism_alone, short_of_room, without_settings
from tests.patience import wait_until

TIES = "".join(f"{one} {(one + each) % 30}\n" for one in range(30) for each in (1, 2, 5))
STUDY = "simulation: {rounds: 2, ticks_per_round: 12}\npopulation: {graph: {path: ties.txt}}\n"


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return the pack of a run with a graph."""
    place = tmp_path_factory.mktemp("packed")
    (place / "ties.txt").write_text(TIES)
    (place / "c.yaml").write_text(STUDY)
    assert prism_alone("run", str(place / "c.yaml"), "-q", "--out", str(place / "feed")).code == 0
    assert prism_alone("pack", str(place / "feed"), "--out", str(place / "feed.prism")).code == 0
    return (place / "feed.prism").read_bytes()


@pytest.fixture
def feed(packed: bytes, tmp_path: Path) -> Path:
    (tmp_path / "feed.prism").write_bytes(packed)
    return tmp_path / "feed.prism"


def test_what_is_unpacked_is_what_was_packed(feed: Path, prism: Prism) -> None:
    ended = prism("unpack", "feed.prism")
    assert (ended.code, ended.out.startswith("feed: 8 files")) == (0, True)
    assert prism("verify", "feed").code == 0
    assert prism("pack", "feed", "--out", "again.prism").code == 0
    assert feed.read_bytes() == Path("again.prism").read_bytes()


def test_what_is_packed_can_be_unpacked_and_a_name_that_could_not_be_is_refused(prism: Prism) -> None:
    name = '13:05:00 st*r q?"<>| żółw #1'
    Path(name).write_text(TIES)
    Path("c.yaml").write_text(STUDY.replace("ties.txt", json.dumps(name)))
    assert prism("run", "c.yaml", "-q", "--out", f"run {name}").code == 0
    assert prism("pack", f"run {name}", "--out", "one.prism").code == 0
    assert prism("unpack", "one.prism", "--out", f"again {name}").code == 0
    assert prism("verify", f"again {name}").code == 0
    run = Path(f"run {name}")
    for number, other in enumerate(("two\nlines", "\x1b[2J", os.fsdecode(b"latin-\xe9"))):
        run = run.rename(other)
        ended = prism("pack", other, "--out", f"{number}.prism")
        assert (ended.code, "cannot be packed: its pack names" in ended.err) == (2, True)
        assert not Path(f"{number}.prism").exists()


def test_a_packed_run_is_replayed_and_verified_as_it_is_and_leaves_nothing(
    feed: Path, prism: Prism, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    assert prism("replay", "feed.prism").out.startswith("feed.prism: 24 ticks replayed, every one as recorded; digest ")
    assert "feed.prism/journal.prism: ok: 24 ticks" in prism("verify", "feed.prism").out
    assert [*place.iterdir()] == []


def test_a_command_that_writes_to_a_run_says_that_it_must_be_unpacked(feed: Path, prism: Prism) -> None:
    for command in ("resume", "audit", "pack"):
        ended = prism(command, "feed.prism")
        assert ended.code == 2
        assert "feed.prism is a packed run; make its directory first with: prism unpack feed.prism" in ended.err


def test_a_file_or_directory_that_is_there_is_not_replaced(feed: Path, prism: Prism) -> None:
    before = feed.read_bytes()
    prism("unpack", "feed.prism")
    assert "feed: exists already; name another directory with --out" in prism("unpack", "feed.prism").err
    assert "feed.prism: exists already; name another file with --out" in prism("pack", "feed").err
    assert feed.read_bytes() == before


def test_a_run_under_way_is_not_packed(feed: Path, prism: Prism) -> None:
    prism("unpack", "feed.prism")
    with locked(Path("feed")):
        ended = prism("pack", "feed", "--out", "now.prism")
    assert (ended.code, f"feed: is in use by process {os.getpid()} on " in ended.err) == (2, True)
    assert not Path("now.prism").exists()


@pytest.mark.parametrize("variable", ["PRISM_LLM_API_KEY", "OPENAI_API_KEY"])
def test_the_value_of_a_key_is_never_packed(
    variable: str, feed: Path, prism: Prism, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "a-key-in-an-answer")
    prism("unpack", "feed.prism")
    with Path("feed", "summary.json").open("a") as summary:
        summary.write("\n a-key-in-an-answer\n")
    ended = prism("pack", "feed", "--out", "leak.prism")
    assert ended.code == 2
    assert ended.err == (
        f"prism: feed/summary.json: has the value of ${variable} in it, so it is not packed; "
        f"if it is no secret, unset ${variable}\n"
    )
    assert [path.name for path in Path().iterdir() if "leak" in path.name] == []


def test_settings_of_one_machine_are_left_out_and_the_run_is_still_whole(prism: Prism, tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("")
    mine = ("--set", f"llm.ca_file={tmp_path / 'ca.pem'}", "--set", "metrics.username=ada")
    assert prism("run", "small.yaml", "-q", "--out", "run", *mine).code == 0
    assert "ada" in Path("run", CONFIG).read_text()
    assert prism("pack", "run").err == ""
    assert prism("unpack", "run.prism", "--out", "there").code == 0
    for path in Path("there").rglob("*"):
        assert path.is_dir() or str(tmp_path).encode() not in path.read_bytes()
    assert "username: null" in Path("there", CONFIG).read_text()
    assert prism("verify", "there").code == 0


def test_each_path_of_this_machine_in_a_setting_is_told(feed: Path, prism: Prism, tmp_path: Path) -> None:
    prism("unpack", "feed.prism")
    with Path("feed", CONFIG).open("a") as config:
        config.write(f"# {tmp_path}/notes and {tmp_path}/ties, {tmp_path}/notes\n")
    told = prism("pack", "feed", "--out", "n").err.splitlines()
    assert [line.partition("this machine: ")[2] for line in told] == [
        f"config.yaml: {tmp_path}/notes",
        f"config.yaml: {tmp_path}/ties",
    ]


@pytest.mark.parametrize("name", ["summary.json", "inputs", "ties.txt"])
def test_what_is_behind_a_symbolic_link_is_not_packed(name: str, feed: Path, prism: Prism, tmp_path: Path) -> None:
    assert prism("unpack", "feed.prism").err == ""
    (kept,) = Path("feed").glob("inputs/*/ties.txt")
    place = {"inputs": kept.parent.parent, "ties.txt": kept}.get(name, Path("feed", name))
    place.rename(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")
    ended = prism("pack", "feed", "--out", "leak.prism")
    assert (ended.code, f"prism: {place}: is a symbolic link, so it is not packed" in ended.err) == (2, True), ended.err
    assert not Path("leak.prism").exists()


def test_an_input_that_cells_share_is_packed_once(feed: Path, prism: Prism) -> None:
    for cell in ("a", "b"):
        prism("unpack", "feed.prism", "--out", f"study/cells/{cell}")
    assert prism("pack", "study").code == 0
    assert prism("unpack", "study.prism", "--out", "again").code == 0
    one, other = Path("again").glob("cells/*/inputs/*/ties.txt")
    assert one.samefile(other)
    assert (one.stat().st_mode & 0o777, prism("verify", "again/cells/b").code) == (0o444, 0)


def test_a_study_is_unpacked_and_a_cell_behind_a_symbolic_link_is_not_packed(feed: Path, prism: Prism) -> None:
    prism("unpack", "feed.prism", "--out", "study/cells/a")
    Path("study/audit").mkdir()
    Path("study/audit/audit.json").write_text("{}", encoding="utf-8")
    assert prism("pack", "study").code == 0
    assert prism("unpack", "study.prism", "--out", "again").code == 0
    assert prism("verify", "again/cells/a").code == 0
    assert Path("again/audit/audit.json").read_bytes() == b"{}"  # the answers of an audit were paid for
    Path("study/cells/b").symlink_to(Path("again/cells/a").resolve())
    ended = prism("pack", "study", "--out", "leak.prism")
    assert (ended.code, "prism: study/cells/b: is a symbolic link, so it is not packed" in ended.err) == (2, True)
    assert not Path("leak.prism").exists()


def test_what_the_gateway_of_a_killed_study_had_on_its_tape_is_packed(feed: Path, prism: Prism) -> None:
    prism("unpack", "feed.prism", "--out", "study/cells/a")
    tape = ExperimentTape(Path("study/tape.sqlite"), "record")
    said = Replied(body="an answer", is_answer=True)
    tape.write(b"k", said, "", Totals())
    assert prism("pack", "study").code == 0  # its tape was not closed
    tape.close()
    assert prism("unpack", "study.prism", "--out", "again").code == 0
    with closing(ExperimentTape(Path("again/tape.sqlite"), "replay")) as again:
        assert again.read(b"k") == said


@pytest.mark.slow
def test_a_key_is_found_in_what_the_journal_has_compressed(prism: Prism, monkeypatch: pytest.MonkeyPatch) -> None:
    assert prism("run", "small.yaml", "-q", "--out", "run", "--set", "run.segment_mb=0.001").code == 0
    segment = min(Path("run").glob("*.seg"))
    disk = RealDisk(Path("run"))
    texts = {text for column in texts_of(disk, segment.name) for text in re.findall(rb"[a-z_]{8,}", column)}
    disk.close()
    text = min(text for text in texts if all(text not in path.read_bytes() for path in Path("run").glob("*.seg")))
    for path in Path("run").glob("*"):
        if path.is_file() and path.suffix != ".seg" and path.name not in {CONFIG, "manifest.json", "journal.prism"}:
            path.unlink()  # they may have the word as it is
    monkeypatch.setenv("PRISM_LLM_API_KEY", text.decode())
    ended = prism("pack", "run", "--out", "leak.prism")
    assert (ended.code, ".seg: has the value of $PRISM_LLM_API_KEY in it" in ended.err) == (2, True), ended.err


def member(name: str, content: bytes = b"", kind: bytes = REGTYPE, to: str = "") -> tuple[TarInfo, BytesIO]:
    found = TarInfo(name)
    found.size, found.type, found.linkname = len(content), kind, to
    return found, BytesIO(content)


def sparse(name: str, size: int) -> tuple[TarInfo, BytesIO]:
    """Return a file of one block, and of zeros to its size, which are not in the archive."""
    found, content = member(name, bytes(512))
    told = {"major": "0", "minor": "1", "name": name, "size": str(size), "numblocks": "1", "map": "0,512"}
    found.pax_headers = {f"GNU.sparse.{key}": value for key, value in told.items()}
    return found, content


@pytest.mark.parametrize(
    ("members", "told"),
    [
        ([member("feed/../../x")], "names 'feed/../../x'; expected a file in a directory"),
        ([member("/tmp/x")], "names '/tmp/x'; expected a file in a directory"),
        ([member(".ssh/x")], "names '.ssh/x'; expected a file in a directory"),
        ([member("feed")], "names 'feed'; expected a file in a directory"),
        ([member("feed/" * 99 + "x")], "expected a file in a directory"),
        ([member("feed/a\x1b[2J")], "names 'feed/a\\x1b[2J'; expected UTF-8 without control characters"),
        ([member("feed/a"), member("other/b")], "other/b is no plain file in feed"),
        ([member("feed/a", kind=SYMTYPE, to="/etc/passwd")], "feed/a is no plain file in feed"),
        ([member("feed/a", kind=LNKTYPE, to="/etc/passwd")], "feed/a is no plain file in feed"),
        ([member("feed/a", kind=FIFOTYPE)], "feed/a is no plain file in feed"),
        ([member("feed/a"), member("feed/a")], "File exists"),
        ([member("feed/a"), member("feed/a/b")], "File exists"),
        ([member("feed/a", bytes(80_000_000))], "it unpacks to more than 67,108,864 bytes"),
        ([sparse("feed/a", 10**12)], "feed/a is no plain file in feed"),
        ([], "it is empty"),
    ],
)
def test_a_strangers_archive_is_one_line_and_leaves_nothing(
    members: list[tuple[TarInfo, BytesIO]], told: str, prism: Prism, tmp_path: Path
) -> None:
    with tarfile.open("feed.prism", "w:gz") as archive:
        for each, content in members:
            archive.addfile(each, content)
            content.seek(0)
    before = sorted(tmp_path.rglob("*"))
    ended = prism("unpack", "feed.prism", "--out", "inner/feed")
    assert ended.code == 2
    assert ended.err.startswith("prism: feed.prism: ")
    assert told in ended.err
    assert ended.err.count("\n") == 1
    assert [path for path in sorted(tmp_path.rglob("*")) if path != tmp_path / "inner"] == before


def test_headers_of_headers_are_one_line(prism: Prism) -> None:
    header = TarInfo("feed/a")
    header.pax_headers = {"path": "feed/a"}
    Path("feed.prism").write_bytes(gzip.compress(header.tobuf(tarfile.PAX_FORMAT)[:1024] * 3000))
    ended = prism("unpack", "feed.prism")
    assert (ended.code, ended.err.count("\n")) == (2, 1), ended.err
    assert "is damaged, or no file of `prism pack`" in ended.err


@catalogue("bit", range(3, 4000, 1201))
def test_a_flipped_bit_is_found(bit: int, packed: bytes, feed: Path, prism: Prism) -> None:
    flipped = bytearray(packed)
    flipped[bit * len(packed) // 4001] ^= 0x10
    feed.write_bytes(flipped)
    ended = prism("unpack", "feed.prism")
    # A bit in the header of gzip that says nothing of the content, such as the time, changes nothing.
    assert ended.code == 2 or prism("verify", "feed").code == 0
    assert ended.code == 0 or ended.err.count("\n") == 1


def test_a_full_disk_leaves_no_part_of_a_pack(feed: Path, prism: Prism, tmp_path: Path) -> None:
    prism("unpack", "feed.prism")
    ended = short_of_room(5_000, "pack", "feed", "--out", "full.prism", cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (1, "prism: full.prism: cannot be packed: File too large\n")
    ended = short_of_room(5_000, "unpack", "feed.prism", "--out", "full", cwd=tmp_path)
    assert ended.returncode == 1
    assert ended.stderr.endswith("cannot be unpacked: File too large\n")
    assert [path.name for path in tmp_path.iterdir() if "full" in path.name] == []


@pytest.fixture(scope="module")
def pack(small_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the pack of a run."""
    pack = tmp_path_factory.mktemp("packed") / "small.prism"
    assert prism_alone("pack", str(small_run), "--out", str(pack)).code == 0
    return pack


@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("command", [("view", "--port", "0"), ("replay",)])
def test_a_signal_removes_the_unpacked_copy(
    kind: signal.Signals, command: tuple[str, ...], pack: Path, tmp_path: Path
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "actors.cli", command[0], str(pack), *command[1:]],
        env={**without_settings(), "TMPDIR": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: any(tmp_path.glob("prism-*/small/manifest.json")) or process.poll() is not None)
    process.send_signal(kind)
    said = process.communicate()[1]
    expected = {0, 128 + kind} if command[0] == "view" else {128 + kind}
    assert (process.returncode in expected, "Traceback" in said) == (True, False), (process.returncode, said)
    assert [*tmp_path.iterdir()] == []


def test_a_refusal_names_the_pack_and_how_its_files_can_be_read(tmp_path: Path) -> None:
    run = nested_run(tmp_path)
    assert prism_alone("pack", str(run), "--out", str(tmp_path / "own.prism")).code == 0
    ended = subprocess.run(
        [sys.executable, "-P", "-m", "actors.cli", "replay", "own.prism"],
        cwd=tmp_path,
        env={**without_settings(), "XDG_STATE_HOME": str(tmp_path / "state")},  # a user who has not run the code before
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr.startswith("prism: not run: own.prism/inputs/")) == (2, True), ended
    assert ended.stderr.endswith("allow it with --trust; `prism unpack own.prism` makes a directory of it\n")
