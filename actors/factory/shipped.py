"""The configurations that come with PRISM with their data and charts, and the template of a user's own domain."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

import msgspec

PACKAGE = Path(__file__).parents[1]
FOLDER = "configs"
FILE_NAME = "prism.yaml"
"""The name of a configuration in a directory of its own."""
SCHEMA = "schema.json"
"""The schema of configurations, for editors: `prism.config.describe.schema`."""
STUDIES = {"experiments": "experiment", "calibrations": "calibrate"}
"""`{folder of files that start from a configuration: the command that takes them}`."""
TEMPLATES = "templates"
TEMPLATE_CONFIG = "config.yaml"
TEMPLATE_PACKAGE = "junction"
"""The name of the package in the template; a copy of the template has another."""
_BASE = re.compile(r"^base: *(\S+)", re.MULTILINE)
_DATA = re.compile(rf"\b{FOLDER}/([\w./-]+\.(?:csv|tsv|txt|json|graphml)(?:\.gz)?|rules/[\w-]+\.yaml)\b")
"""The data files and the charts that a configuration names."""


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """A configuration that comes with PRISM.

    Args:
        name: its file's name without the extension.
        path: the file.
    """

    name: str
    path: Path

    @property
    def about(self) -> str:
        """The first sentence of the comment at its top."""
        comment = self.text().partition("\n\n")[0].partition("\n#\n")[0]
        words = " ".join(line.removeprefix("#").strip() for line in comment.split("\n") if line.startswith("#"))
        return words.partition(". ")[0].rstrip(".")

    def text(self) -> str:
        """Return the file as it is."""
        return self.path.read_text(encoding="utf-8")

    @property
    def command(self) -> str:
        """The command that takes it."""
        return "run"

    def files(self, directory: Path) -> dict[Path, bytes]:
        """Return the files of a directory that has all it needs to run: `{path: content}`, the one to run first.

        Data files and charts are beside the configuration there, and it names them so.
        """
        target = directory / FILE_NAME
        text = self.text().replace(f"{FOLDER}/{self.path.name}", target.as_posix())
        data = {directory / name: (shipped_root() / FOLDER / name).read_bytes() for name in _DATA.findall(text)}
        schema = (shipped_root() / FOLDER / SCHEMA).read_bytes()
        text = f"# yaml-language-server: $schema={SCHEMA}\n" + _DATA.sub(r"\1", text)
        return {target: text.encode(), directory / SCHEMA: schema, **data}


class Study(Example, frozen=True, kw_only=True):
    """An experiment or a calibration that comes with PRISM.

    Args:
        folder: its folder, a key of `STUDIES`.
    """

    folder: str

    @property
    def command(self) -> str:
        """The command that takes it."""
        return STUDIES[self.folder]

    def files(self, directory: Path) -> dict[Path, bytes]:
        """Return it, the configuration that it starts from, and the modules and tables that it names."""
        text = self.text()
        target = directory / f"{self.command}.yaml"
        found = _BASE.search(text)
        base = {} if found is None else _configuration(self.path.parent / found[1]).files(directory)
        beside = {
            directory / path.name: path.read_bytes()
            for path in sorted(self.path.parent.iterdir())
            if path.is_file() and path.suffix != ".yaml" and re.search(rf"\b{re.escape(path.stem)}(?:\.csv|:)", text)
        }
        text = _BASE.sub(f"base: {FILE_NAME}", text)
        text = text.replace(f"{FOLDER}/{self.folder}/{self.path.name}", target.as_posix())
        text = text.replace(f"{FOLDER}/{self.folder}/", "")  # tables stand beside it there
        charts = {directory / name: (shipped_root() / FOLDER / name).read_bytes() for name in _DATA.findall(text)}
        return {target: _DATA.sub(r"\1", text).encode(), **base, **beside, **charts}


def _configuration(path: Path) -> Example:
    return Example(name=path.stem, path=path)


def shipped_root() -> Path:
    """Return the directory that has the folder `configs`: inside an installed package, or that of the project."""
    installed = PACKAGE / "shipped"
    return installed if installed.is_dir() else PACKAGE.parent


def examples() -> dict[str, Example]:
    """Return every configuration that comes with PRISM by its name, `default` first."""
    paths = sorted((shipped_root() / FOLDER).glob("*.yaml"), key=lambda path: (path.stem != "default", path.stem))
    return {path.stem: _configuration(path) for path in paths}


def studies() -> dict[str, Study]:
    """Return every experiment and calibration that comes with PRISM by its name, such as `experiments/feed`."""
    root = shipped_root() / FOLDER
    return {
        f"{folder}/{path.stem}": Study(name=f"{folder}/{path.stem}", path=path, folder=folder)
        for folder in STUDIES
        for path in sorted((root / folder).glob("*.yaml"))
    }


def replications() -> dict[str, Path]:
    """Return the file of every replication that comes with PRISM by its name."""
    return {path.stem: path for path in sorted((shipped_root() / FOLDER / "replications").glob("*.yaml"))}


def template_files(directory: Path, package: str) -> dict[Path, bytes]:
    """Return the files of a package with a user's own domain: `{path: content}`, the configuration first."""
    root = shipped_root() / TEMPLATES / "domain"
    sources = [path for path in sorted(root.rglob("*")) if path.is_file() and _is_source(path.relative_to(root))]
    sources.sort(key=lambda path: path.name != TEMPLATE_CONFIG)
    files = {}
    for source in sources:
        name = source.relative_to(root).as_posix().replace(TEMPLATE_PACKAGE, package)
        files[directory / name] = source.read_bytes().replace(TEMPLATE_PACKAGE.encode(), package.encode())
    return files


def _is_source(path: Path) -> bool:
    """Return whether a file belongs to the template, and was not left there by a tool."""
    return not any(part.startswith((".", "__pycache__")) for part in path.parts)


def find_shipped(name: str) -> Path | None:
    """Return the shipped file of this name, such as `configs/data/us-macro-quarterly.csv`; None if there is none."""
    parts = PurePosixPath(name).parts
    if not parts or parts[0] != FOLDER or ".." in parts:
        return None
    path = shipped_root() / name
    return path if path.is_file() else None
