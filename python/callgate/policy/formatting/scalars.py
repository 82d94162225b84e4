"""How a scalar is written: the quotes that it gets, and the lines of those that take several."""

from __future__ import annotations

import re
from typing import Final

from ..source import Source
from .tree import Value

# What a double-quoted text may hold to be the same in single quotes, and how it reads there.
_PLAIN_ESCAPES: Final = re.compile(r'(?:[^"\\]|\\["\\/])*')
_UNPRINTABLE: Final = re.compile("[\0-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def lines_of(source: Source, value: Value) -> list[str]:
    """The lines of a scalar that is no block scalar, without indentation; a single one for most.

    Texts in quotes get double ones, or single ones where those spare escapes.
    """
    text = source.text[value.at : value.end]
    if value.style not in ("'", '"'):
        return [line.strip() for line in text.split("\n")]
    lines = text.split("\n")
    if len(lines) == 1:
        return [_quoted(text, str(value.data))]
    # the blanks behind a backslash are part of the text
    rest = [line.lstrip(" \t") for line in lines[1:]]
    return [lines[0], *rest] if value.style == '"' else [lines[0].rstrip(), *(line.rstrip() for line in rest)]


def _quoted(text: str, data: str) -> str:
    if text[0] == "'":
        return text if '"' in data or "\\" in data else f'"{data}"'
    inner = text[1:-1]
    spares = "\\" in inner and _PLAIN_ESCAPES.fullmatch(inner) is not None
    return f"'{data}'" if spares and "'" not in data and ('"' in data or "\\" in data) else text


def key_text(source: Source, key: Value) -> str:
    """A key on one line; one that was written over several gets quotes and escapes."""
    if key.kind == "alias":
        return source.text[key.start : key.end] + " "
    lines = lines_of(source, key) if key.style not in ("|", ">") else []
    lead = key.properties + " " if key.properties else ""
    if len(lines) == 1:
        return lead + lines[0]
    escaped = str(key.data).replace("\\", "\\\\").replace('"', '\\"')
    return lead + '"' + _UNPRINTABLE.sub(lambda found: f"\\u{ord(found.group()):04x}", escaped) + '"'


def block_scalar(source: Source, value: Value) -> tuple[str, list[str]]:
    """A block scalar: its header, and its lines without indentation, those included that it keeps at its end."""
    data, raw = str(value.data), source.text[value.at : value.stop].split("\n")
    header, lines = raw[0].partition("#")[0], raw[1:]
    written = next((line for line in lines if line.strip(" ")), "")
    meant = next((line for line in data.split("\n") if line.strip(" ")), "")
    indent = _leading(written) - _leading(meant)
    lines = [line[indent:] for line in lines]
    while lines and not lines[-1]:
        lines.pop()
    breaks = len(data) - len(data.rstrip("\n"))
    if not data.strip("\n"):
        lines = []
    ending = "" if breaks == 1 else "-" if breaks == 0 else "+"
    if "+" in header and breaks:
        ending = "+"
        lines += [""] * (breaks - bool(lines))
    shifted = "2" if data.lstrip("\n").startswith(" ") else ""
    return header[0] + shifted + ending, lines


def _leading(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
