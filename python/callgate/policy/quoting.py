"""What to do about a value that had to be quoted as a whole: its line as it should be.

Expressions and texts begin with what YAML keeps for itself (`"a" + b`, `!has(x)`, `[1].size()`), or hold a `: `. What
its author meant is asked of the grammar of expressions: what follows it goes into one pair of quotes, everything else
is a text.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any, Final

import callgate._core as _core

from .source import Source
from .value_text import Value, quoted_head, value_at

_LOGIC = re.compile(r"[ \t]*(?:&&|\|\||\?)")
_ENTRY = re.compile(r"[ \t][A-Za-z_]\w*:(?=[ \t]|$)")
_NO_EXPRESSION_BEGINS: Final = "%@`*&|>,]}?:"
_COMMENT = re.compile(r"[ \t]+#")
_QUOTES: Final = ("'", '"')
_LONGEST_SHOWN: Final = 120
_LONGEST_EXPRESSION: Final = 8 * 1024  # bytes: what schemas say of an expression, and of no other text


def mended(source: Source, value: Value) -> str:
    """The hint for a value that is not quoted as a whole.

    >>> source = Source("x.yaml", "when: !has(args.x)")
    >>> mended(source, Value("when", 6, 18))
    "put the whole expression in single quotes: `when: '!has(args.x)'`"
    """
    lines = source.text[value.start : value.end].splitlines()
    text, key = " ".join(line.strip() for line in lines), value.key
    # a sign in front of words makes no text of them, and it is a text that is wanted
    prose = key == "message" and text.startswith(("- ", "!")) and "?" not in text
    expression = None if prose else meant(text)
    if expression is not None and len(lines) > 1:
        return f"write `{'-' if key is None else key + ':'} >-`, and the whole expression on lines of its own below it"
    if expression is not None:
        return f"put the whole expression in {_quoted(key, expression)}"
    if key == "message":
        # in quotes already, with one of them inside: `'don't'`
        odd = len(text) > 1 and text[0] in "\"'" and text[-1] == text[0] and text.count(text[0]) % 2 == 1
        inner = (text[1:-1] if odd else text).replace("\\", "\\\\").replace('"', '\\"')
        shown = _quoted(key, f'"{inner}"').partition(": ")[2]
        return f"this is a CEL expression: a text that stands for itself is quoted twice, {shown}"
    if key in expression_keys():
        if text[0] in _NO_EXPRESSION_BEGINS:
            return f"`{key}` takes a CEL expression, and none begins with {shown_sign(text[0])}"
        return f"put the whole expression in {_quoted(key, text)}"
    return f"put the whole text in {_quoted(key, text)}"


def negation(source: Source, start: int, key: str | None) -> tuple[Value, str] | None:
    """The value that begins with a `!` at an offset, and the hint for it, if it is an expression rather than a tag.

    >>> negation(Source("x.yaml", "when: !has(args.x)"), 6, "when")[0]
    Value(key='when', start=6, end=18)
    >>> negation(Source("x.yaml", "desk: !env"), 6, "desk")
    """
    value = value_at(source, start)
    if value is None or value.start != start:
        return None
    text = source.text[value.start : value.end]
    if not _is_expression(text) or (key not in expression_keys() and "(" not in text):
        return None
    return value, mended(source, value)


def cut_off(source: Source, start: int, end: int, *, in_string: bool = False) -> str | None:
    """The hint for an expression without quotes that YAML ends before its author does, at a ` #` or a `,` in brackets;
    for what it takes for a key behind such a comma; and for a list or map where an expression is wanted.

    Returns None where what the author wrote is no expression either; it need not be one where it ends `in_string`.

    >>> cut_off(Source("x.yaml", 'when: args.x == "a #1"'), 6, 17)
    'put the whole expression in single quotes: `when: \\'args.x == "a #1"\\'`'
    """
    value = value_at(source, start)
    if value is None or source.text[value.start] in _QUOTES:
        return None
    if source.text[value.start] in "|>":
        return mended(source, value) if source.text[value.start + 1 : value.end].isdecimal() else None
    line = source.position(end)[0]
    line_end = source.starts[line - 1] + len(source.line(line).rstrip())
    values = [value]
    if _COMMENT.match(source.text, end, line_end):
        values.append(value._replace(end=line_end))
    for each in values:
        text = source.text[each.start : each.end]
        if "\n" in text or (text[0] in "[{" and each.start != start):
            continue
        more = each.start < start or each.end > end or text[0] in "[{"
        if more and (in_string or _is_expression(text)):
            return mended(source, each)
    return None


def meant(text: str) -> str | None:
    """The expression that a text was meant to be, or None where it is none.

    What stands in quotes altogether, or in front of a `&&`, is meant without them.

    >>> meant('"args.x == "a""')
    'args.x == "a"'
    """
    head = quoted_head(text)
    if head is not None and _LOGIC.match(text, head):
        bare = text[1 : head - 1] + text[head:]
        if _is_expression(text[1 : head - 1]) and _is_expression(bare):
            return bare
    if _is_expression(text):
        return text
    inside = text[1:-1] if head is not None and text[-1] == text[0] else ""
    return inside if _is_expression(inside) else None


def shown_sign(sign: str) -> str:
    """How a message names a sign."""
    return "a backtick" if sign == "`" else f"`{sign}`"


def wants_quotes(key: str | None, text: str, *, flow: bool = False) -> bool:
    """Whether quotes are what a value needs, rather than a map or list on lines of its own, or in brackets a comma.

    >>> wants_quotes("when", 'args.x == "a" action: ask'), wants_quotes("when", 'args.x == "a" action: ask', flow=True)
    (True, False)
    """
    if flow and _ENTRY.search(text):
        return meant(text) is not None
    return key in expression_keys() or key in text_keys() or meant(text) is not None


@cache
def expression_keys() -> frozenset[str]:
    """The keys that take an expression somewhere in the language."""
    return frozenset(name for name, taken in _keys() if taken.get("maxLength") == _LONGEST_EXPRESSION)


@cache
def text_keys() -> frozenset[str]:
    """The keys that take a text wherever the language has them."""
    return frozenset(name for name, taken in _keys() if _is_text(taken)) - frozenset(
        name for name, taken in _keys() if not _is_text(taken)
    )


def _keys() -> list[tuple[str, dict[str, Any]]]:
    shapes = [shape for kind in _core.kinds() for shape in json.loads(_core.schema(kind))["$defs"].values()]
    return [each for shape in shapes for each in shape.get("properties", {}).items()]


def _is_text(taken: dict[str, Any]) -> bool:
    kinds = taken.get("type", ())
    return "string" in ([kinds] if isinstance(kinds, str) else kinds)


def _is_expression(text: str) -> bool:
    return _core.canonical_expression(text) is not None


def _quoted(key: str | None, text: str) -> str:
    """Which quotes a text takes, and its line with them."""
    how, written = "single quotes", f"'{text}'"
    if "'" in text and '"' not in text and "\\" not in text:
        how, written = "double quotes", f'"{text}"'
    elif "'" in text:
        how, written = "single quotes, each `'` in it twice", "'" + text.replace("'", "''") + "'"
    if len(written) > _LONGEST_SHOWN:
        written = written[:_LONGEST_SHOWN] + "…" + written[-1]
    return f"{how}: `{written}`" if key is None else f"{how}: `{key}: {written}`"
