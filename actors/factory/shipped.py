"""The configurations that come with PRISM with their data and charts, and the template of a user's own domain."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

import msgspec

PACKAGE = Path(__file__).parents[1]
FOLDER = "configs"
FILE_NAME = "prism.yaml"  # the name of a configuration in a directory of its own
SCHEMA = "schema.json"  # the schema of configurations, for editors: `prism.config.config.schema`
STUDIES = {"experiments": "experiment", "calibrations": "calibrate"}
"""`{folder of files that start from a configuration: the command that takes them}`."""
TEMPLATES = "templates"
TEMPLATE_CONFIG = "config.yaml"
TEMPLATE_PACKAGE = "junction"  # the name of the package in the template; a copy of the template has another
_BASE = re.compile(r"^base: *(\S+)", re.MULTILINE)
_DATA = re.compile(rf"\b{FOLDER}/([\w./-]+\.(?:csv|tsv|txt|json|graphml)(?:\.gz)?|rules/[\w-]+\.yaml)\b")
"""The data files and the charts that a configuration names."""


class Example(msgspec.Struct, frozen=True):
    """The file of a configuration, an experiment or a calibration that comes with PRISM."""

    path: Path

    @property
    def name(self) -> str:
        """The file's name without the extension; that of a study begins with its folder, a key of `STUDIES`."""
        folder = self.path.parent.name
        return f"{folder}/{self.path.stem}" if folder in STUDIES else self.path.stem

    @property
    def about(self) -> str:
        """The first sentence of the comment at its top."""
        comment = self.text().partition("\n\n")[0].partition("\n#\n")[0]
        words = " ".join(line.removeprefix("#").strip() for line in comment.split("\n") if line.startswith("#"))
        return words.partition(". ")[0].rstrip(".")

    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @property
    def command(self) -> str:
        return STUDIES.get(self.path.parent.name, "run")

    def files(self, directory: Path) -> dict[Path, bytes]:
        """Return the files of a directory that has all it needs to run: `{path: content}`, the one to run first.

        Data files and charts are beside it there, and it names them so. Of a study these are also the configuration
        that it starts from, and the modules and tables that it names.
        """
        text, folder, root = self.text(), self.path.parent.name, shipped_root() / FOLDER
        target = directory / (f"{self.command}.yaml" if folder in STUDIES else FILE_NAME)
        others: dict[Path, bytes] = {}
        if folder in STUDIES:
            if (base := _BASE.search(text)) is not None:
                others |= Example(self.path.parent / base[1]).files(directory)
            for path in sorted(self.path.parent.iterdir()):
                is_named = re.search(rf"\b{re.escape(path.stem)}(?:\.csv|:)", text)
                if path.is_file() and path.suffix != ".yaml" and is_named:
                    others[directory / path.name] = path.read_bytes()
            text = _BASE.sub(f"base: {FILE_NAME}", text)
            text = text.replace(f"{FOLDER}/{folder}/{self.path.name}", target.as_posix())
            text = text.replace(f"{FOLDER}/{folder}/", "")  # in the new directory, tables stand beside the file
        else:
            text = text.replace(f"{FOLDER}/{self.path.name}", target.as_posix())
            others[directory / SCHEMA] = (root / SCHEMA).read_bytes()
        others |= {directory / name: (root / name).read_bytes() for name in _DATA.findall(text)}
        head = "" if folder in STUDIES else f"# yaml-language-server: $schema={SCHEMA}\n"
        return {target: (head + _DATA.sub(r"\1", text)).encode(), **others}


def shipped_root() -> Path:
    """Return the directory that has the folder `configs`: inside an installed package, or that of the project."""
    installed = PACKAGE / "shipped"
    return installed if installed.is_dir() else PACKAGE.parent


def examples() -> dict[str, Example]:
    """Return every configuration that comes with PRISM by its name, `default` first."""
    paths = sorted((shipped_root() / FOLDER).glob("*.yaml"), key=lambda path: (path.stem != "default", path.stem))
    return {path.stem: Example(path) for path in paths}


def studies() -> dict[str, Example]:
    """Return every experiment and calibration that comes with PRISM by its name, such as `experiments/feed`."""
    paths = [path for folder in STUDIES for path in sorted((shipped_root() / FOLDER / folder).glob("*.yaml"))]
    return {each.name: each for each in map(Example, paths)}


def replications() -> dict[str, Path]:
    return {path.stem: path for path in sorted((shipped_root() / FOLDER / "replications").glob("*.yaml"))}


def template_files(directory: Path, package: str) -> dict[Path, bytes]:
    """Return the files of a package with a user's own domain: `{path: content}`, the configuration first."""
    root = shipped_root() / TEMPLATES / "domain"
    sources = sorted(root.rglob("*"), key=lambda path: (path.name != TEMPLATE_CONFIG, path))
    files = {}
    for source in filter(Path.is_file, sources):
        name = source.relative_to(root)
        if not any(part.startswith((".", "__pycache__")) for part in name.parts):  # a tool has left it there
            content = source.read_bytes().replace(TEMPLATE_PACKAGE.encode(), package.encode())
            files[directory / name.as_posix().replace(TEMPLATE_PACKAGE, package)] = content
    return files


def find_shipped(name: str) -> Path | None:
    """Return the shipped file of this name, such as `configs/data/us-macro-quarterly.csv`; None if there is none."""
    parts = PurePosixPath(name).parts
    if not parts or parts[0] != FOLDER or ".." in parts:
        return None
    path = shipped_root() / name
    return path if path.is_file() else None
