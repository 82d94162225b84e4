"""A resolved policy as YAML, each line with the file and line that its value came from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from callgate.policy.merge import Merged
from callgate.policy.resolve import Resolved
from callgate.policy.scalars import resolve_plain

_WIDEST_COLUMN: Final = 56  # longer lines push their own comment out, not those of all lines
# Safe without quotes everywhere: in block and flow, for YAML 1.1 readers too.
_PLAIN: Final = re.compile(r"[0-9]+(?:ms|s|m|h)|[A-Za-z_][A-Za-z0-9_./-]*(?: [A-Za-z0-9_./-]+)*")
_WORDS_OF_1_1: Final = frozenset(("y", "n", "yes", "no", "on", "off"))
_ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def render(resolved: Resolved) -> str:
    """The policy as a YAML document that loads as the same policy, with comments that say where each line is from.

    Raises what `Resolved.digest` does.
    """
    lines: list[tuple[str, str]] = []
    lines.append((f"# digest sha256:{resolved.digest}", ""))
    if resolved.binding is not None:
        lines.append((f"# under the binding {flow(resolved.binding)}", ""))
    for key in ("apiVersion", "kind", "metadata"):
        lines += _lines(key, resolved.document[key], 0)
    for key, block in resolved.tree.value.items():
        lines += _block(f"{key}:", block, 0)
    width = max((len(text) for text, comment in lines if comment and len(text) <= _WIDEST_COLUMN), default=0)
    return "".join(f"{text:<{width}}  # {comment}\n" if comment else f"{text}\n" for text, comment in lines)


def _block(head: str, value: Merged, depth: int) -> Iterator[tuple[str, str]]:
    indent = "  " * depth
    if isinstance(value.value, dict) and value.value:
        yield f"{indent}{head}", str(value.origin)
        for key, child in value.value.items():
            yield from _block(f"{scalar(key)}:", child, depth + 1)
    elif isinstance(value.value, list) and any(isinstance(item.value, (dict, list)) for item in value.value):
        yield f"{indent}{head}", str(value.origin)
        for item in value.value:
            yield from _item(item, depth + 1)
    else:
        yield f"{indent}{head} {flow(value.plain())}", str(value.origin)


def _item(item: Merged, depth: int) -> Iterator[tuple[str, str]]:
    if not isinstance(item.value, dict) or not item.value:
        yield f"{'  ' * depth}- {flow(item.plain())}", str(item.origin)
        return
    first = True
    for key, child in item.value.items():
        for line, comment in _block(f"{scalar(key)}:", child, depth + 1):
            yield (f"{'  ' * depth}- {line[2 * depth + 2 :]}" if first else line), comment
            first = False


def _lines(key: str, value: Any, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        yield f"{'  ' * depth}{scalar(key)}:", ""
        for inner, child in value.items():
            yield from _lines(inner, child, depth + 1)
    else:
        yield f"{'  ' * depth}{scalar(key)}: {flow(value)}", ""


def flow(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{scalar(key)}: {flow(child)}" for key, child in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow(child) for child in value) + "]"
    return scalar(value)


def scalar(value: Any) -> str:
    """A scalar as YAML 1.2 reads it back: quoted wherever there could be doubt.

    >>> [scalar(v) for v in ("args.x", "no", "a: b", "1", 1, 1.5, True, None)]
    ['args.x', '"no"', '"a: b"', '"1"', '1', '1.5', 'true', 'null']
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if value != value:
            return ".nan"
        return {float("inf"): ".inf", float("-inf"): "-.inf"}.get(value) or repr(value)
    if isinstance(value, int):
        return str(value)
    if _PLAIN.fullmatch(value) and isinstance(resolve_plain(value), str) and value.lower() not in _WORDS_OF_1_1:
        return str(value)
    return '"' + "".join(_escaped(char) for char in value) + '"'


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    point = ord(char)
    return f"\\x{point:02x}" if point < 0x100 else f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"
