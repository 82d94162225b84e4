"""Lists of tools as MCP servers, OpenAI and Anthropic requests have them, as drafts for a manifest."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, NoReturn

from .draft import Draft, Guess, ImportFault, refuse_odd_name
from .tool_words import is_path, words_of

MOST_BYTES: Final = 16 << 20
DEEPEST: Final = 56
"""Levels of JSON; a manifest adds a few, and 64 are the most that a file may have."""
LONGEST_NUMBER: Final = 400
_LONGEST_KEY: Final = 512
_SCHEMAS: Final = ("inputSchema", "input_schema", "parameters")


class ToolList(NamedTuple):
    """Drafts of the tools of one list, and what was left out or is missing, in words."""

    drafts: list[Draft]
    remarks: list[str]


def read_tool_list(text: bytes) -> ToolList:
    """Read a list of tools.

    Args:
        text: JSON: an answer to MCP's `tools/list`, with the JSON-RPC envelope or without; the `tools` of an OpenAI
            (chat completions or responses) or Anthropic request, or such a request as a whole.

    Returns:
        A draft of each tool, nothing guessed yet; and what was left out.

    Raises:
        ImportFault: it is no such list.

    Example:
        >>> [draft.name for draft in read_tool_list(b'{"tools": [{"name": "f", "inputSchema": {}}]}').drafts]
        ['f']
    """
    value = read_json(text)
    entries, remarks = _entries(value)
    if not entries:
        raise ImportFault("the list of tools is empty")
    drafts: list[Draft] = []
    for at, entry in enumerate(entries, start=1):
        draft = _draft(entry, f"tool {at}")
        if draft is None:
            remarks.append(f"tool {at}, of type {entry['type']!a}, is left out: it has no name to judge calls by")
        else:
            drafts.append(draft)
    if not drafts:
        raise ImportFault("none of the tools has a name to judge calls by")
    return ToolList(drafts, remarks)


def read_json(text: bytes) -> Any:
    """JSON, read strictly: no key twice, no NaN, nothing deeper or longer than a manifest can hold.

    Raises:
        ImportFault: it is not such JSON; the text says where.
    """
    if len(text) > MOST_BYTES:
        raise ImportFault(f"more than {MOST_BYTES >> 20} MiB: a manifest holds far less; import it in parts")
    if not text.strip():
        raise ImportFault("there is nothing in it")
    try:
        decoded = text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ImportFault(f"no UTF-8 text: byte {error.start + 1}") from None
    try:
        value = json.loads(decoded, object_pairs_hook=_object, parse_constant=_no_constant, parse_int=_integer)
    except json.JSONDecodeError as error:
        raise ImportFault(f"not JSON: line {error.lineno}, column {error.colno}: {error.msg.lower()}") from None
    except RecursionError:
        raise ImportFault(f"nested deeper than {DEEPEST} levels") from None
    _refuse_unwritable(value)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ImportFault(f"an object has the key {twice!a} twice")
    return found


def _no_constant(word: str) -> NoReturn:
    raise ImportFault(f"not JSON: `{word}` is no number")


def _integer(digits: str) -> int:
    if len(digits) > LONGEST_NUMBER:
        raise ImportFault(f"a number of {len(digits):,} digits is too long (at most {LONGEST_NUMBER})")
    return int(digits)


def _refuse_unwritable(value: Any) -> None:
    """Refuse what YAML, as callgate reads it, has no form for."""
    level = [value]
    for _ in range(DEEPEST):
        below: list[Any] = []
        for each in level:
            texts = list(each) if isinstance(each, dict) else [each] if isinstance(each, str) else []
            for text in texts:
                _refuse_text(text, key=isinstance(each, dict))
            if each in (float("inf"), float("-inf")):
                raise ImportFault("a number is too large")
            below += each.values() if isinstance(each, dict) else each if isinstance(each, list) else []
        level = below
        if not level:
            return
    raise ImportFault(f"nested deeper than {DEEPEST} levels")


def _refuse_text(text: str, key: bool) -> None:
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise ImportFault(f"the text {text[:40]!a} holds half of a surrogate pair, which is no character")
    if key and len(text) > _LONGEST_KEY:
        raise ImportFault(f"the key {text[:40]!a}… has {len(text):,} characters, and {_LONGEST_KEY} are the most")


def _entries(value: Any) -> tuple[list[Any], list[str]]:
    """The tools, wherever the answer or request has them, and what else it says of them."""
    if isinstance(value, dict) and "jsonrpc" in value:
        if isinstance(error := value.get("error"), dict):
            message = error.get("message")
            raise ImportFault(f"the server answered with an error: {message if isinstance(message, str) else error}")
        value = value.get("result")
    elif isinstance(value, dict) and not {"tools", "functions"} & set(value) and isinstance(value.get("result"), dict):
        value = value["result"]  # the answer as some clients print it, without `jsonrpc` and `id`
    remarks = []
    if isinstance(value, dict):
        if isinstance(value.get("nextCursor"), str):
            remarks.append("the answer names a next page (`nextCursor`): ask for it, and import all pages together")
        value = value.get("tools", value.get("functions"))
    if not isinstance(value, list):
        raise ImportFault(
            "no list of tools: there is none by the name of `tools`, and the whole is none; an answer to MCP's "
            "`tools/list` and the `tools` of an OpenAI or Anthropic request can be read"
        )
    return value, remarks


def _draft(entry: Any, where: str) -> Draft | None:
    if not isinstance(entry, dict):
        raise ImportFault(f"{where} is no object")
    if isinstance(entry.get("function"), dict):  # chat completions wrap what responses spell out
        entry = entry["function"]
    if "name" not in entry and isinstance(entry.get("type"), str):
        return None
    name = refuse_odd_name(entry.get("name"), where)
    where = f"the tool `{name}`"
    draft = Draft(name)
    annotations = entry.get("annotations")
    hints = annotations if isinstance(annotations, dict) else {}
    titles = [title for title in (entry.get("title"), hints.get("title")) if isinstance(title, str) and title.strip()]
    draft.title = titles[0].strip() if titles else None
    if isinstance(entry.get("description"), str) and entry["description"].strip():
        draft.keys["description"] = entry["description"]
    for key in _SCHEMAS:
        if entry.get(key) is not None:
            if not isinstance(entry[key], dict):
                raise ImportFault(f"`{key}` of {where} is no object: arguments are declared as a JSON Schema")
            draft.keys["parameters"] = entry[key]
            break
    else:
        draft.remarks.append("the source declares no arguments: any are let through")
    properties = draft.keys.get("parameters", {}).get("properties")
    names = list(properties) if isinstance(properties, dict) else []
    draft.keys.update(
        _of_annotations({key: hint for key, hint in hints.items() if isinstance(hint, bool)}, name, names)
    )
    return draft


def _of_annotations(hints: dict[str, bool], name: str, arguments: list[str]) -> dict[str, Any]:
    """Effect and idempotency by MCP's annotations, as their specification means them (2025-06-18, `ToolAnnotations`).

    By default a tool is not read-only, destructive, not idempotent, and acts on an open world; the last three mean
    nothing for one that is read-only. A tool of which none of the first three is said is guessed by its name: so many
    servers say nothing that the defaults would call every tool destructive.
    """
    if hints.get("readOnlyHint"):
        return {"effect": "read"}
    if not {"readOnlyHint", "destructiveHint", "idempotentHint"} & set(hints):
        return {}
    return {"effect": _changing(hints, name, arguments), **dict(_idempotent(hints))}


def _changing(hints: dict[str, bool], name: str, arguments: list[str]) -> str | Guess:
    destructive, open_world = hints.get("destructiveHint"), hints.get("openWorldHint")
    if open_world is False:
        return Guess("write", "it changes something, but its world is closed (`openWorldHint: false`)")
    if open_world is None and any(map(is_path, arguments)) and "upload" not in words_of(name):
        return Guess("write", "it changes something (`readOnlyHint: false`), and acts on a path")
    if destructive or open_world:
        return "external"
    return Guess("external", "it is not read-only, and its world is open by MCP's default")


def _idempotent(hints: dict[str, bool]) -> Iterator[tuple[str, bool]]:
    if "idempotentHint" in hints:
        yield "idempotent", hints["idempotentHint"]
