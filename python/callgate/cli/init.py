"""Write a starter folder: a policy, its tools, and tests of it, with schemas for the editor. Overwrites nothing."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from callgate import _core
from callgate.cli import UsageError
from callgate.policy.packs import packs_root
from callgate.report.color import paint, wanted

STARTER: Final = Path(__file__).parent / "starter"
# What stands for the policy's name in the files of the starter.
_NAME: Final = "NAME"
_FILES: Final = {
    "policy.yaml": "what the agent may do, and when it has to stop",
    "tools.yaml": "what its tools do: two examples, to be replaced with yours",
    "policy_test.yaml": "a looping run and a healthy one, and what has to come of them",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `callgate init` takes."""
    parser.add_argument(
        "folder", metavar="DIR", nargs="?", default=".", help="where to (default: here); made if needed"
    )
    parser.add_argument("--force", action="store_true", help="overwrite files of the same names")


def run(arguments: argparse.Namespace) -> int:
    """Write the files and say what to do next."""
    folder = Path(arguments.folder)
    name = name_for(folder)
    write(folder, starter(name), force=arguments.force)
    sys.stdout.write(_told(folder, name, wanted(sys.stdout)))
    return 0


def starter(name: str) -> dict[str, str]:
    """The files of a starter folder, by their paths in it: documents whose policy has the given name, and schemas."""
    files = {file: (STARTER / file).read_text(encoding="utf-8").replace(_NAME, name) for file in _FILES}
    return files | {f"schema/{kind}.json": _core.schema(kind) for kind in _core.kinds()}


def name_for(folder: Path) -> str:
    """A name for the policy of a folder: the folder's, in letters, digits and hyphens, and none that a pack has.

    >>> name_for(Path("Order Desk"))
    'order-desk'
    >>> name_for(Path("default"))
    'my-default'
    """
    name = re.sub(r"[^a-z0-9]+", "-", folder.resolve().name.lower()).strip("-")
    taken = {"true", "false", "null", *(pack.name for pack in packs_root().iterdir())}
    return name if name[:1].isalpha() and name not in taken else f"my-{name or 'policy'}"


def write(folder: Path, files: Mapping[str, str], *, force: bool) -> None:
    """Write files into a folder; none of them if one is there already.

    Args:
        folder: made if it is not there.
        files: texts by their paths in the folder.
        force: overwrite what is there.

    Raises:
        UsageError: a file is there already and `force` is false, or the system forbids it.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"`{folder}` is a file, and a folder is wanted")
    there = [file for file in files if (folder / file).exists() or (folder / file).is_symlink()]
    if there and not force:
        names = [f"  {folder / file}" for file in there]
        raise UsageError("nothing was written, for these are there already (`--force` overwrites them):", *names)
    try:
        for file, text in files.items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(text, encoding="utf-8")
    except OSError as error:
        where = error.filename or folder
        raise UsageError(f"cannot write `{where}`: {(error.strerror or str(error)).lower()}") from None


def _told(folder: Path, name: str, color: bool) -> str:
    path = shlex.quote(str(folder))
    inventory = {**_FILES, "schema/": "JSON Schemas: an editor completes and checks with them as you type"}
    widest = max(map(len, inventory))
    steps = [
        (f"callgate check {path}", "find every fault, with its place"),
        (f"callgate test {path}", "run the tests"),
        (f"callgate check --resolved {path}", "see all values, and where each is from"),
    ]
    commands = max(len(command) for command, _ in steps)
    lines = [f"wrote the policy `{name}` to {folder}", ""]
    lines += [f"  {file:{widest}}  {meaning}" for file, meaning in inventory.items()]
    lines += ["", paint("Next", "bold", color)]
    lines += [f"  {command:{commands}}  " + paint(f"# {meaning}", "faint", color) for command, meaning in steps]
    lines += ["", f'In Python: `callgate.Gate.load("{folder}")`.']
    return "\n".join(lines) + "\n"
