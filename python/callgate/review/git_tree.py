"""The YAML files under a path as they stood at a git reference, read from git's objects: no work tree is touched."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Final

SUFFIXES: Final = (".yaml", ".yml")
_LINK: Final = "120000"


class GitError(Exception):
    """What git, or what it has at a reference, does not allow; its text is for people."""


@contextmanager
def at_reference(reference: str, path: Path) -> Iterator[tuple[Path, Path]]:
    """What stood under a path at a reference, as files of a temporary folder.

    Args:
        reference: anything that names a commit: a branch, a tag, `HEAD~2`, a hash.
        path: a file or folder of a repository; it need not be there any more.

    Returns:
        The same file or folder in the temporary folder, and that folder, which stands for the repository's root.

    Raises:
        GitError: no git, no repository, no such commit, or nothing of YAML under that path there.
    """
    import tempfile  # this and `subprocess` take long to be imported, and git is asked seldom

    if path.is_symlink() and path.is_dir():
        path = path.resolve()  # git keeps a link as a text: the folder itself is asked for
    near = path if path.is_dir() else path.parent
    while not near.is_dir():
        near = near.parent
    top = _git(near, "rev-parse", "--show-toplevel").decode().rstrip("\n")
    inside = Path(path.absolute().parent.resolve(), path.absolute().name) if path.name else path.resolve()
    try:
        below = inside.relative_to(Path(top).resolve()).as_posix()
    except ValueError:
        raise GitError(f"`{path}` lies outside of the repository `{top}`") from None
    found = _git(near, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{reference}^{{commit}}", allow=True)
    commit = found.decode().strip()
    if not commit:
        raise GitError(f"there is no commit `{reference}` in `{top}`")
    listed = _git(Path(top), "ls-tree", "-r", "-z", "--full-tree", commit, "--", *([below] if below != "." else []))
    entries = [entry for line in listed.split(b"\0") if line and (entry := _entry(line)) is not None]
    if not entries:
        raise GitError(f"there is no YAML file under `{path}` at `{reference}`")
    with tempfile.TemporaryDirectory(prefix="callgate-diff-") as folder:
        root = Path(folder).resolve()
        for name, content in _contents(Path(top), commit, entries):
            target = root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        yield (root / below, root)


def _entry(line: bytes) -> tuple[str, str, str] | None:
    """Mode, object and path of a line of `ls-tree`; None for what is no YAML file."""
    head, _, name = line.partition(b"\t")
    mode, kind, found = head.decode().split(" ")
    path = name.decode("utf-8", "surrogateescape")
    parts = PurePosixPath(path).parts
    if kind != "blob" or not path.endswith(SUFFIXES) or ".." in parts or path.startswith("/"):
        return None
    return mode, found, path


def _contents(top: Path, commit: str, entries: list[tuple[str, str, str]]) -> Iterator[tuple[str, bytes]]:
    """The content of each file; of a link that of what it leads to, if that lies in the same tree."""
    asked = "".join(f"{commit}:{path}\n" if mode == _LINK else f"{found}\n" for mode, found, path in entries)
    out = _git(top, "cat-file", "--batch", "--follow-symlinks", given=asked.encode("utf-8", "surrogateescape"))
    at = 0
    for _, _, path in entries:
        end = out.index(b"\n", at)
        head = out[at:end].split(b" ")
        at = end + 1
        if len(head) == 3 and head[1] == b"blob":
            size = int(head[2])
            yield path, out[at : at + size]
            at += size + 1
        elif head[0] in (b"symlink", b"dangling", b"loop", b"notdir"):
            at += int(head[1]) + 1  # it leads out of the tree, or nowhere: `load` would not follow it either


def _git(where: Path, *arguments: str, given: bytes | None = None, allow: bool = False) -> bytes:
    import subprocess

    try:
        done = subprocess.run(["git", "-C", str(where), *arguments], input=given, capture_output=True, check=False)
    except FileNotFoundError:
        raise GitError("`git` is not on the PATH") from None
    if done.returncode and not allow:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise GitError(said[0].removeprefix("fatal: ") if said else f"git {arguments[0]} failed")
    return done.stdout
