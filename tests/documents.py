"""Runs the code blocks of a Markdown document, top to bottom, as a reader would.

- `python`: executed, all blocks of a document in one namespace; a block that begins with `>>>` as a doctest.
- `console`: each `$ ` line is run by bash, one shell a block; what it prints is compared with the lines below it. A
  line `...` stands for any lines, `...` inside a line for any text. Nothing below a command means that it prints
  nothing. An exit code of 1 (findings) is fine where output is shown; anything above is a fault.
- any other language with `title=PATH`: written to that file.

Other blocks are left alone: what cannot run everywhere (`pip install`, a service) is marked `sh` or `text`.
"""

import doctest
import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# What the documents speak of by relative path.
CONTEXT = ("policies", "examples")
FENCE = re.compile(r"(?P<indent> *)(?P<fence>```+)(?P<language>[\w-]*) *(?P<info>.*)")
TITLE = re.compile(r"title=\"?(?P<path>[^\"\s]+)\"?")
# Printed after each command with its exit code: no program prints this character by itself.
SEPARATOR = "\x1e"


class DocumentFault(AssertionError):
    """A block that does not do what its document says; the text begins with `file:line`."""


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the rest of its opening line, its text, and the line on which the text begins."""

    language: str
    info: str
    text: str
    line: int

    @property
    def title(self) -> str | None:
        """The file that the block is to be written to."""
        found = TITLE.search(self.info)
        return found["path"] if found else None

    @property
    def runs(self) -> bool:
        """Whether the block is executed."""
        return self.language in {"python", "console"}


def blocks(markdown: str) -> Iterator[Block]:
    """Yield the fenced blocks of a document, in order."""
    lines = markdown.splitlines()
    at = 0
    while at < len(lines):
        opening = FENCE.fullmatch(lines[at])
        at += 1
        if not opening:
            continue
        begin = at
        while at < len(lines) and lines[at].strip() != opening["fence"]:
            at += 1
        text = textwrap.dedent("".join(line + "\n" for line in lines[begin:at]))
        yield Block(opening["language"], opening["info"], text, begin + 1)
        at += 1


def run_document(document: Path, root: Path, room: Path) -> None:
    """Run all blocks of `document` in the folder `room`, which gets a copy of what documents of `root` speak of.

    The working directory of the process has to be `room` already.

    Raises:
        DocumentFault: a block fails or prints something else; the first one only.
    """
    for name in CONTEXT:
        if (root / name).is_dir():
            shutil.copytree(root / name, room / name)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    shown = str(document.relative_to(root))
    for block in blocks(document.read_text(encoding="utf-8")):
        if block.language == "python":
            run_python(block, shown, namespace)
        elif block.language == "console":
            run_console(block, shown, room)
        elif block.title:
            (room / block.title).parent.mkdir(parents=True, exist_ok=True)
            (room / block.title).write_text(block.text, encoding="utf-8")


def run_python(block: Block, document: str, namespace: dict[str, Any]) -> None:
    """Execute a block in `namespace`; line numbers in a traceback are those of the document."""
    if block.text.startswith(">>>"):
        example = doctest.DocTestParser().get_doctest(block.text, namespace, document, document, block.line - 1)
        example.globs = namespace
        said: list[str] = []
        if doctest.DocTestRunner().run(example, out=said.append, clear_globs=False).failed:
            raise DocumentFault(f"{document}:{block.line}: {''.join(said)}")
        return
    try:
        exec(compile("\n" * (block.line - 1) + block.text, document, "exec"), namespace)
    except Exception as error:
        raise DocumentFault(f"{document}:{block.line}: the block raises {type(error).__name__}: {error}") from error


def run_console(block: Block, document: str, room: Path) -> None:
    """Run the commands of a block in one shell and compare what each prints."""
    steps = list(commands(block))
    report = f'printf \'{SEPARATOR}%d{SEPARATOR}\' "$status"; (exit "$status")'
    script = "".join(f"{command}\nstatus=$?; {report}\n" for _, command, _ in steps)
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "NO_COLOR": "1",
        "HOME": str(room),
    }
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=room,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    pieces = done.stdout.split(SEPARATOR)
    for (line, command, expected), printed, code in zip(steps, pieces[::2], pieces[1::2], strict=False):
        where = f"{document}:{line}: `{command}`"
        if int(code) > (1 if expected else 0):
            raise DocumentFault(f"{where} ends with {code}:\n{printed}")
        if not prints(expected, printed):
            raise DocumentFault(f"{where} prints\n{printed}\nand not\n" + "\n".join(expected))
    if len(pieces) < 2 * len(steps):
        raise DocumentFault(f"{document}:{block.line}: the shell ended before the last command")


def commands(block: Block) -> Iterator[tuple[int, str, list[str]]]:
    """Yield the line, the text and the expected lines of each command; a backslash at the end continues a command."""
    lines = block.text.splitlines()
    at = 0
    while at < len(lines):
        if not lines[at].startswith("$ "):
            raise DocumentFault(f"line {block.line + at}: a console block begins with a `$ ` line")
        begin = at
        command = lines[at].removeprefix("$ ")
        while command.endswith("\\") and at + 1 < len(lines):
            at += 1
            command += "\n" + lines[at]
        at += 1
        expected = []
        while at < len(lines) and not lines[at].startswith("$ "):
            expected.append(lines[at])
            at += 1
        yield block.line + begin, command, expected


def prints(expected: list[str], printed: str) -> bool:
    """Tell whether `printed` is what the `expected` lines say, blanks at the ends of lines and of the text aside.

    >>> prints(["a", "...", "took ... s"], "a\\nb\\nc\\ntook 0.1 s\\n")
    True
    >>> prints(["a"], "a\\nb\\n")
    False
    """
    pattern = ""
    for line in "\n".join(expected).rstrip().splitlines():
        if line.strip() == "...":
            pattern += r"(?:.*\n)*"
        else:
            pattern += re.escape(line.rstrip()).replace(re.escape("..."), ".*") + r"\n"
    lines = "".join(line.rstrip() + "\n" for line in printed.rstrip().splitlines())
    return re.fullmatch(pattern, lines) is not None
