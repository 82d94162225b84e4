"""Files and folders of policy documents: what is in them, by kind and name, and the packs that they name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from callgate.path_list import path_list

from .beside import file_beside
from .diagnostics import Diagnostic, Place, Span, did_you_mean
from .ignores import MARK as IGNORES
from .ignores import Heeded
from .limits import DEFAULT_LIMITS, Limits
from .packs import packs_root
from .positions import Positions
from .reading import read
from .settings import CONFIGURATION, Settings, find_settings, settings_of
from .source import Source, decode

SUFFIXES = (".yaml", ".yml")
MOST_HINTS = 100
UNREAD = frozenset({"CG101", "CG105", "CG106", "CG107", "CG109", "CG111", "CG703"})
"""Faults behind which documents of the file may be missing."""
_MOST_OFTEN_ENOUGH = 1 << 15
MOST_NAMES = 12
TEST_SUFFIXES = ("_test.yaml", "_test.yml")


class Document(NamedTuple):
    """One document of a file. `kind` and `name` are None where the document does not say them."""

    kind: str | None
    name: str | None
    positions: Positions

    @property
    def data(self) -> Any:
        """The document as plain data, envelope included. Shared; not to be changed."""
        return self.positions.data

    @property
    def source(self) -> Source:
        """The file that it stands in."""
        return self.positions.source

    def place(self, message: str) -> Place:
        """The place of its name, for a diagnostic that refers to it."""
        span = self.positions.value("/metadata/name") or self.positions.value("")
        return Place(message, self.source.file, span)


class Loaded:
    """What was loaded: the documents that were asked for, and packs as they are named.

    `documents` are those of the paths, `packed` those of packs, `diagnostics` all that is wrong with any of their
    files, `sources` the text of every file that was read, by the path that diagnostics show, `settings` what the
    project's `callgate.yaml` says, `comments` what comments in the files keep silent. `files` are those that were asked
    for, `pack_files` those of packs, `aside` those that merely lie beside what was asked for.
    """

    def __init__(self, packs: Sequence[Path] | None, limits: Limits) -> None:
        self.documents: list[Document] = []
        self.packed: list[Document] = []
        self.diagnostics: list[Diagnostic] = []
        self.sources: dict[str, Source] = {}
        self.files: list[str] = []
        self.settings = Settings()
        self.pack_files: list[str] = []
        self.aside: list[str] = []
        self.comments = Heeded()
        self._packs = packs
        self._limits = limits
        self._seen: set[str] = set()
        self._asked: set[str] = set()
        self._configurations: dict[str, list[Positions]] = {}
        self._hints = 0
        self._indexed = (-1, -1)
        self._by_kind: dict[str | None, list[Document]] = {}
        self._by_name: dict[tuple[str | None, str | None], Document] = {}
        self._folders: dict[Path, Path] = {}
        self.resolved: dict[object, Any] = {}  # what `resolve` made of documents here: a shared one is read by many

    def find(self, kind: str, name: str) -> Document | None:
        """The document of a kind and name: one of those loaded, else one of the pack of that name."""
        found = self._among(kind, name)
        if found is None and name not in self._asked:
            self._asked.add(name)
            for root in self._pack_roots():
                if _is_plain(name) and (root / name).is_dir():
                    self._read_pack(root, name)
                    break
            found = self._among(kind, name)
        return found

    def names(self, kind: str, *, packs: bool = True) -> list[str]:
        """The names that `find` knows for a kind, those of packs that were not looked into yet included if wanted."""
        self._index()
        known = {name for of, name in self._by_name if of == kind and name is not None}
        for root in self._pack_roots() if packs else []:
            known.update(entry.name for entry in root.iterdir() if entry.is_dir() and _is_plain(entry.name))
        return sorted(known)

    def hint(self, kind: str, name: str, file: str | None = None) -> str:
        """What to say about a name that `find` does not know; the nearest one for as many as anybody reads.

        `file` is the one that says it: what lies beside it, and was not loaded, may have the document.
        """
        self._hints += 1
        if self._hints > MOST_HINTS:
            return "`metadata.name` of a document is its name"
        near = None if file is None else file_beside(file, kind, name, self._limits)
        if file is not None and near is not None and Path(file).with_name(near).as_posix() not in self.sources:
            return f"it is in `{near}` beside this file: name the folder"
        known = self.names(kind, packs=kind == "GuardPolicy")
        if not known:
            return "none is loaded"
        if similar := did_you_mean(name, known):
            return similar
        shown = ", ".join(f"`{other}`" for other in known[:MOST_NAMES])
        return f"known here: {shown}" + (f", and {len(known) - MOST_NAMES:,} more" if len(known) > MOST_NAMES else "")

    def hidden(self, name: str) -> list[Diagnostic]:
        """What keeps files from being read in which a document of that name may stand: then it is not unknown.

        A file that cannot be decoded or parsed is searched for the name; one that cannot be opened may hold anything.
        """
        unread = [found for found in self.diagnostics if found.severity == "error" and found.code in UNREAD]
        texts = {found.file: self.sources[found.file].text for found in unread if found.file in self.sources}
        return [found for found in unread if found.file not in texts or name in texts[found.file]]

    def of_kind(self, kind: str) -> list[Document]:
        """The documents of a kind among those that were asked for."""
        self._index()
        return list(self._by_kind.get(kind, ()))

    def _among(self, kind: str, name: str) -> Document | None:
        self._index()
        return self._by_name.get((kind, name))

    def _index(self) -> None:
        """Bring the look-ups up to date with the documents, which only ever grow: of equal names the first counts."""
        length = (len(self.documents), len(self.packed))
        if length == self._indexed:
            return
        self._indexed = length
        self._by_kind, self._by_name = {}, {}
        for document in self.documents:
            self._by_kind.setdefault(document.kind, []).append(document)
        for document in (*self.documents, *self.packed):
            self._by_name.setdefault((document.kind, document.name), document)

    def _pack_roots(self) -> list[Path]:
        if self._packs is None:
            self._packs = [packs_root()]
        return [root for root in self._packs if root.is_dir()]

    def _read_pack(self, root: Path, name: str) -> None:
        for path in yaml_files(root / name):
            if not path.name.endswith(TEST_SUFFIXES):
                label = path.relative_to(root).as_posix()
                self.packed += self.read(path, _shown(path), label)

    def read(self, path: Path, file: str, label: str | None = None) -> list[Document]:
        """The documents of one file; its faults are added to `diagnostics`. A file is read once."""
        real = self._real(path)
        if real in self._seen:
            return []
        self._seen.add(real)
        try:
            with path.open("rb") as handle:
                data = handle.read(_MOST_OFTEN_ENOUGH)  # room for all that is allowed would be taken for each file
                if len(data) == _MOST_OFTEN_ENOUGH:
                    data += handle.read(self._limits.bytes + 1 - len(data))
        except OSError as error:
            self._fault("CG703", f"cannot read the file: {(error.strerror or str(error)).lower()}", file)
            return []
        (self.files if label is None else self.pack_files).append(file)
        source, undecodable = decode(file, data, self._limits.bytes, label)
        self.sources[file] = source
        if undecodable is not None:
            self.diagnostics.append(undecodable)
            return []
        composed = read(source, self._limits)
        self.diagnostics += composed.diagnostics
        if IGNORES in source.text:
            self.diagnostics += self.comments.add(source)
        if path.name == CONFIGURATION:
            self._configurations[real] = [*composed.documents]
            return []
        found = [document for positions in composed.documents if (document := self._document(positions))]
        if not composed.documents and not composed.diagnostics:
            self._fault("CG709", "the file holds no document", file, severity="warning")
        return found

    def _real(self, path: Path) -> str:
        """`os.path.realpath`, which looks at each folder on the way, with each folder looked at once."""
        if path.is_symlink():
            return os.path.realpath(path)
        folder = path.parent
        if folder not in self._folders:
            self._folders[folder] = Path(os.path.realpath(folder))
        return str(self._folders[folder] / path.name)

    def _document(self, positions: Positions) -> Document | None:
        data, file = positions.data, positions.source.file
        if data is None and positions.root.style is not None:  # `---` with nothing behind it
            return None
        if not isinstance(data, dict):
            what = "a list" if isinstance(data, list) else "a single value"
            self._fault("CG112", f"a document has to be a map, not {what}", file, positions.value(""))
            return None
        kind, metadata = data.get("kind"), data.get("metadata")
        if "kind" not in data:
            hint = "say what it is with `kind:`, or move it out of this folder"
            first = next(iter(positions.root.children.values()), None)
            at = first.key if first is not None and first.key is not None else positions.root
            span = positions.source.span(at.start, at.end)
            self._fault("CG110", "document without a `kind`: it is ignored", file, span, hint, "warning")
        name = metadata.get("name") if isinstance(metadata, dict) else None
        return Document(kind if isinstance(kind, str) else None, name if isinstance(name, str) else None, positions)

    def _fault(
        self, code: str, message: str, file: str, span: Span | None = None, hint: str | None = None,
        severity: Any = "error",
    ) -> None:  # fmt: skip
        self.diagnostics.append(Diagnostic(code, severity, message, file, span, hint))

    def add(self, path: Path) -> None:
        """Load one file, or a folder with all below it."""
        if path.is_dir():
            files = yaml_files(path)
            if not files:
                hint = "policies are read from files named `*.yaml` or `*.yml`"
                self._fault("CG702", "the folder holds no YAML file", _shown(path), hint=hint)
            for file in files:
                self.documents += self.read(file, _shown(file))
        elif not path.exists():
            self._fault("CG701", "no such file or folder", _shown(path))
        else:
            self.documents += self.read(path, _shown(path))

    def take_settings(self, paths: Iterable[Path]) -> None:
        """Read the settings that go for the paths, and tell of others that lie among them."""
        chosen = find_settings(paths)
        real = self._real(chosen) if chosen is not None else None
        if chosen is not None:
            self.read(chosen, _shown(chosen))
        for where, documents in self._configurations.items():
            if where != real and documents:
                hint = f"only `{_shown(chosen)}` counts" if chosen is not None else None
                self._fault(
                    "CG714", "settings that nobody reads", documents[0].source.file, hint=hint, severity="warning"
                )
            elif documents:
                self.settings, faults = settings_of(documents[0])
                self.diagnostics += faults

    def refuse_equal_names(self) -> None:
        """Report documents of one kind that share a name."""
        first: dict[tuple[str, str], Document] = {}
        for document in self.documents:
            if document.kind is None or document.name is None:
                continue
            other = first.setdefault((document.kind, document.name), document)
            if other is not document:
                self.diagnostics.append(
                    Diagnostic(
                        "CG706", "error", f"a second {document.kind} named `{document.name}`", document.source.file,
                        document.positions.value("/metadata/name"), "give each its own name",
                        (other.place("the first one"),), "/metadata/name",
                    )
                )  # fmt: skip


def load(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    beside: Iterable[Path] = (),
    packs: Sequence[Path] | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Loaded:
    """Load files and folders; folders whole, in the order of their paths, hidden folders left out.

    Args:
        paths: files, and folders of `*.yaml` and `*.yml`; one of them may stand by itself.
        beside: files in which policies and manifests are looked for too.
        packs: folders with a folder for each pack; None for the packs that ship with callgate.
        limits: how much one file may hold.

    Returns:
        What was found, with everything that is wrong about it; nothing is raised for what a file holds.

    Example:
        >>> [d.code for d in load(["no/such/file.yaml"]).diagnostics]
        ['CG701']
    """
    loaded = Loaded(packs, limits)
    given = path_list(paths)
    for path in given:
        loaded.add(path)
    asked = len(loaded.files)
    for path in beside:
        loaded.add(path)
    loaded.aside, loaded.files = loaded.files[asked:], loaded.files[:asked]
    loaded.take_settings(given)
    loaded.refuse_equal_names()
    return loaded


def beside_tests(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[Path]:
    """What lies in the folders of tests that are named by file: the policies and manifests that they may be about.

    Example:
        >>> beside_tests(["no/such_test.yaml"])
        []
    """
    found: dict[Path, None] = {}
    for path in path_list(paths):
        if path.is_file() and path.name.endswith(TEST_SUFFIXES):
            near = [*path.parent.glob("*.yaml"), *path.parent.glob("*.yml")]
            found.update(dict.fromkeys(sorted(file for file in near if not file.name.endswith(TEST_SUFFIXES))))
    return list(found)


def yaml_files(folder: Path) -> list[Path]:
    """The YAML files of a folder and of all below it, hidden ones left out, in the order of their paths."""
    found: list[Path] = []
    for base, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        named = [Path(base, name) for name in files if name.endswith(SUFFIXES) and not name.startswith(".")]
        found += [path for path in named if path.is_file()]  # a pipe would be waited for
    return sorted(found)


def _is_plain(name: str) -> bool:
    return name != "" and not name.startswith((".", "_")) and not set(name) & set("/\\\0")


def _shown(path: Path) -> str:
    """A path as diagnostics show it: relative where it lies below the working directory."""
    if path.is_absolute():
        with suppress(ValueError):
            path = path.relative_to(Path.cwd())
    return path.as_posix()
