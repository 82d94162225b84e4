"""Tool definitions in the shapes in which hosts have them: OpenAI's, Anthropic's, MCP's and manifests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from callgate.policy.load import Loaded, load
from callgate.policy.tool_count import definition_tokens, tools_of
from callgate.policy.tool_extends import with_extended


class DefinitionError(ValueError):
    """Something that is no definition of a tool; the text says which and why."""


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool as a model is told of it.

    `parameters` is a JSON Schema; `groups` are words that a host sorts it under; `tokens` what the definition takes in
    a prompt; `raw` the definition as the host handed it over, to be sent as it is.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    groups: tuple[str, ...]
    tokens: int
    raw: Any


def definitions_of(tools: Iterable[Any]) -> list[ToolDefinition]:
    """The definitions of a list of tools, as a request to a provider or an MCP `tools/list` answer has it.

    Args:
        tools: OpenAI's `{"type": "function", "function": {…}}` or `{"type": "function", "name": …}`, Anthropic's
            `{"name", "description", "input_schema"}`, MCP's `{"name", "description", "inputSchema"}`.

    Returns:
        The definitions, in order. Their tokens are estimated.

    Raises:
        DefinitionError: one of them is none.

    Example:
        >>> (tool,) = definitions_of([{"name": "add", "description": "Two numbers.", "input_schema": {}}])
        >>> tool.name, tool.tokens
        ('add', 19)
    """
    found = []
    for position, raw in enumerate(tools):
        inner = raw.get("function", raw) if isinstance(raw, Mapping) else None
        name = inner.get("name") if isinstance(inner, Mapping) else None
        if not isinstance(inner, Mapping) or not isinstance(name, str) or not name:
            raise DefinitionError(f"tools[{position}] is no definition of a tool: it has no `name`")
        schema: Any = next((inner[key] for key in ("parameters", "input_schema", "inputSchema") if key in inner), {})
        tags = inner.get("tags")
        groups = tuple(str(tag) for tag in tags) if isinstance(tags, list) else ()
        description = str(inner.get("description") or inner.get("title") or "")
        parameters = schema if isinstance(schema, Mapping) else {}
        tokens = definition_tokens(name, {"description": description, "parameters": parameters})
        found.append(ToolDefinition(name, description, parameters, groups, tokens, raw))
    return found


def declared_in(loaded: Loaded) -> list[ToolDefinition]:
    """The definitions in loaded manifests. `raw` is in Anthropic's shape, without what only the guard needs."""
    manifests = loaded.of_kind("ToolManifest")
    declared = {tool.name: tool.declared for document in manifests for tool in tools_of(document)}
    found = []
    for name, tool in with_extended(declared).items():
        schema = tool.get("parameters")
        parameters = schema if isinstance(schema, Mapping) else {"type": "object"}
        description, groups = str(tool.get("description") or ""), tool.get("groups")
        raw = {"name": name, "description": description, "input_schema": parameters}
        named = tuple(group for group in groups if isinstance(group, str)) if isinstance(groups, list) else ()
        found.append(ToolDefinition(name, description, parameters, named, definition_tokens(name, tool), raw))
    return found


def read_definitions(path: Path) -> list[ToolDefinition]:
    """The definitions in a JSON file (a list, or an object with `tools`), or in a file or folder of manifests.

    Raises:
        DefinitionError: it cannot be read, or holds something else. Of manifests the first fault is told.
    """
    if path.suffix != ".json":
        loaded = load([path])
        fault = next((found for found in loaded.diagnostics if found.severity == "error"), None)
        if fault is not None:
            place = f"{fault.file}:{fault.span.line}" if fault.span is not None else fault.file
            raise DefinitionError(f"{place}: {fault.message}")
        return declared_in(loaded)
    try:
        body = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise DefinitionError(f"cannot read `{path}`: {(error.strerror or str(error)).lower()}") from None
    except (ValueError, RecursionError) as error:
        raise DefinitionError(f"{path}: this is no JSON: {str(error).lower()}") from None
    if isinstance(body, dict):
        body = body.get("tools", body.get("result", {}).get("tools") if isinstance(body.get("result"), dict) else None)
    if not isinstance(body, list):
        raise DefinitionError(f"{path}: a list of tools is wanted, or an object with `tools`")
    try:
        return definitions_of(body)
    except DefinitionError as error:
        raise DefinitionError(f"{path}: {error}") from None
