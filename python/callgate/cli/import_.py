"""Write a first manifest for tools: from an MCP `tools/list` answer, an OpenAI or Anthropic tool list, or a trace."""

from __future__ import annotations

import argparse
import io
import re
import sys
from pathlib import Path
from typing import Final

from callgate.cli import UsageError
from callgate.policy.draft import Draft, ImportFault, leave_out_refused, refuse_equal_names
from callgate.policy.limits import DEFAULT_LIMITS
from callgate.policy.tool_guesses import guess_rest
from callgate.policy.tool_lists import MOST_BYTES, read_tool_list
from callgate.report.manifest import render
from callgate.report.snippet import printable
from callgate.traces.lines import STDIN, TraceError, chunks, is_trace, refuse_unreadable
from callgate.traces.tools_seen import tools_seen

_NAME: Final = "tools"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `callgate import` takes."""
    parser.add_argument(
        "sources", metavar="SOURCE", nargs="+",
        help="a list of tools as JSON, or a trace (`.jsonl`, `.jsonl.gz`); `-` is standard input. "
        "Of several, such as the pages of one list, the tools come together",
    )  # fmt: skip
    parser.add_argument("--name", metavar="NAME", help="the manifest's name (default: that of the first source)")
    parser.add_argument("--output", metavar="FILE", help="where to (default: standard output)")
    parser.add_argument("--force", action="store_true", help="overwrite the file")


def run(arguments: argparse.Namespace) -> int:
    """Write the manifest, and what was left out of it to stderr."""
    output = None if arguments.output is None else Path(arguments.output)
    if output is not None and output.is_dir():
        raise UsageError(f"`{output}` is a folder, and a file is wanted")
    if output is not None and not arguments.force and (output.exists() or output.is_symlink()):
        raise UsageError(f"`{output}` is there already, nothing was written; `--force` overwrites")
    sources = [Path(source) for source in arguments.sources]
    if sources.count(STDIN) > 1:
        raise UsageError("standard input can be read once: name `-` once")
    name = _name(sources[0]) if arguments.name is None else arguments.name
    if not name or name.strip() != name or not name.isprintable():
        raise UsageError("the manifest's name is empty, or has blanks around it or characters that do not show")
    drafts, remarks = _drafts(sources)
    text = render(name, ["standard input" if source == STDIN else source.name for source in sources], drafts)
    _refuse_large(text, len(drafts))
    if output is None:
        sys.stdout.write(text)
    else:
        try:
            output.write_text(text, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"cannot write `{output}`: {(error.strerror or str(error)).lower()}") from None
    for remark in remarks + [f"`{draft.name}`: {remark}" for draft in drafts for remark in draft.remarks]:
        print(f"callgate: {printable(remark)}", file=sys.stderr)
    return 0


def _drafts(sources: list[Path]) -> tuple[list[Draft], list[str]]:
    """The drafts of all sources, checked and completed, and what is to be told of the sources."""
    drafts: list[Draft] = []
    remarks: list[str] = []
    for source in sources:
        try:
            found, told = _read(source)
        except (ImportFault, TraceError) as fault:
            raise UsageError(f"{_shown(source)}: {fault}") from None
        drafts += found
        remarks += [f"{_shown(source)}: {remark}" for remark in told]
    try:
        refuse_equal_names(drafts)
    except ImportFault as fault:
        raise UsageError(str(fault)) from None
    leave_out_refused(drafts)
    for draft in drafts:
        guess_rest(draft)
    return drafts, remarks


def _read(source: Path) -> tuple[list[Draft], list[str]]:
    refuse_unreadable(source)
    if source == STDIN:
        data = sys.stdin.buffer.read()
        seen = tools_seen(chunks(io.BytesIO(data))) if is_trace(io.BytesIO(data)) else read_tool_list(data)
        return seen.drafts, seen.remarks
    if is_trace(source):
        seen = tools_seen(chunks(source))
        return seen.drafts, seen.remarks
    try:
        with source.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise ImportFault(f"cannot read the file: {(error.strerror or str(error)).lower()}") from None
    found = read_tool_list(data)
    return found.drafts, found.remarks


def _refuse_large(text: str, tools: int) -> None:
    """Refuse a manifest that could not be loaded, in words about tools; what else is wrong would be ours."""
    from callgate.policy.compose import compose
    from callgate.policy.source import Source

    these = "this tool" if tools == 1 else f"these {tools:,} tools"
    size = len(text.encode())
    if size > DEFAULT_LIMITS.bytes:
        raise UsageError(
            f"the manifest of {these} would take {size:,} bytes, and a file holds "
            f"{DEFAULT_LIMITS.bytes:,}: import them in parts, each with a `--name` of its own"
        )
    for found in compose(Source("manifest", text)).diagnostics:
        raise UsageError(f"the manifest of {these} could not be loaded: {found.message}; import them in parts")


def _name(source: Path) -> str:
    """A name for the manifest: the file's, in letters, digits and hyphens."""
    stem = "" if source == STDIN else source.name.partition(".")[0]
    name = re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-")
    return name if name[:1].isalpha() and name not in ("true", "false", "null") else _NAME


def _shown(source: Path) -> str:
    return "standard input" if source == STDIN else str(source)
