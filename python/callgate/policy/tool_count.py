"""What `check` says about the number and size of the tools that a policy puts in front of a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from callgate.counted import counted
from callgate.tokens import estimate_tokens

from .diagnostics import Diagnostic
from .faults import Found, located
from .load import Document, Loaded
from .resolve import Resolved
from .settings import ToolLimits


class Declared(NamedTuple):
    """A tool of a manifest: its name, what is declared of it, and the document that it stands in."""

    name: str
    declared: Mapping[str, Any]
    document: Document

    @property
    def is_defined(self) -> bool:
        """Whether the manifest holds its definition. A manifest may also guard names of which the host has some."""
        return any(self.declared.get(key) for key in ("description", "parameters", "definition_tokens"))

    @property
    def tokens(self) -> int:
        """What its definition takes in a prompt: `definition_tokens`, else an estimate."""
        return definition_tokens(self.name, self.declared)


def definition_tokens(name: str, declared: Mapping[str, Any]) -> int:
    """The tokens of a tool's definition: as declared, else estimated from name, description and parameters.

    Example:
        >>> definition_tokens("ping", {"description": "Is the host up?", "parameters": {"type": "object"}})
        20
        >>> definition_tokens("ping", {"definition_tokens": 12})
        12
    """
    written = declared.get("definition_tokens")
    if isinstance(written, int) and not isinstance(written, bool):
        return written
    schema = declared.get("parameters") or {"type": "object"}
    return estimate_tokens({"name": name, "description": declared.get("description") or "", "input_schema": schema})


def tools_of(document: Document) -> Iterator[Declared]:
    """The tools that a manifest declares, in its order."""
    spec = document.data.get("spec") if isinstance(document.data, dict) else None
    tools = spec.get("tools") if isinstance(spec, dict) else None
    for name, declared in tools.items() if isinstance(tools, dict) else ():
        yield Declared(name, declared if isinstance(declared, dict) else {}, document)


def count_tools(resolved: Resolved, limits: ToolLimits) -> list[Diagnostic]:
    """What there is to say about the tools of a policy: how many (CG801), and their share of the window (CG802)."""
    declared = [tool for document in resolved.manifests.values() for tool in tools_of(document)]
    tools = [tool for tool in declared if tool.is_defined]
    policy = resolved.layers[-1]
    written = isinstance(policy.data.get("spec"), dict) and "tools" in policy.data["spec"]
    steps = ("spec", "tools") if written else ("metadata", "name")
    part = "key" if written else "value"
    found = []
    for code, severity, message, hint in (*_many(tools, limits), *_heavy(tools, limits)):
        found += located(policy.positions, [Found(code, severity, message, steps, part, hint)])  # type: ignore[arg-type]
    return found


def long_definitions(document: Document, limits: ToolLimits) -> list[Diagnostic]:
    """The tools of a manifest whose definition is long by itself (CG803)."""
    found = []
    for tool in tools_of(document):
        if tool.tokens > limits.definition_tokens:
            message = f"the definition of `{tool.name}` takes about {tool.tokens:,} tokens"
            hint = f"above {limits.definition_tokens:,} a model reads past it: shorten its texts, or split the tool"
            found.append(Found("CG803", "warning", message, ("spec", "tools", tool.name), "key", hint))
    return located(document.positions, found)


def unused_manifests(loaded: Loaded, policies: list[Resolved]) -> list[Diagnostic]:
    """The manifests that were loaded and that no policy or test has in force (CG804); none where there is no policy."""
    if not policies:
        return []
    used = {id(document) for policy in policies for document in policy.manifests.values()}
    named = {name for test in loaded.of_kind("GuardTest") for name in _manifests_of(test)}
    found: list[Diagnostic] = []
    for document in loaded.of_kind("ToolManifest"):
        if id(document) not in used and document.name not in named:
            count = sum(1 for _ in tools_of(document))
            message = f"no policy uses the manifest `{document.name}`: {_its_tools(count)} guarded by nothing"
            hint = "name it in the `tools` of a policy, or take it away"
            at = Found("CG804", "warning", message, ("metadata", "name"), "value", hint)
            found += located(document.positions, [at])
    return found


def _its_tools(count: int) -> str:
    return "its tool is" if count == 1 else f"its {count} tools are"


def _manifests_of(test: Document) -> list[str]:
    spec = test.data.get("spec")
    names = spec.get("manifests") if isinstance(spec, dict) else None
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


_Said = tuple[str, str, str, str]


def _many(tools: list[Declared], limits: ToolLimits) -> Iterator[_Said]:
    count = len(tools)
    these = counted(count, "tool is", "tools are")
    if count >= limits.too_many:
        message = f"{these} in front of the model: from {limits.too_many} on it picks wrong ones and invents names"
        hint = "let it search: `callgate tools search` finds the few definitions that a step needs"
        yield "CG801", "warning", message, hint
    elif count > limits.many:
        message = f"{these} in front of the model: above {limits.many} it picks the wrong one often"
        hint = "split them between policies, or give a step only those that `callgate tools search` finds"
        yield "CG801", "warning", message, hint
    elif count > limits.few:
        message = f"{these} in front of the model: up to {limits.few} it keeps apart best"
        yield "CG801", "note", message, "leave out what is not used: `callgate tools unused` tells from recorded runs"


def _definitions(count: int) -> str:
    return "definition of 1 tool takes" if count == 1 else f"definitions of {count} tools take"


def _heavy(tools: list[Declared], limits: ToolLimits) -> Iterator[_Said]:
    tokens = sum(tool.tokens for tool in tools)
    if tokens > limits.share * limits.context_window:
        message = (
            f"the {_definitions(len(tools))} about {tokens:,} tokens, "
            f"{tokens / limits.context_window:.0%} of a window of {limits.context_window:,}"
        )
        longest = sorted(tools, key=lambda tool: (-tool.tokens, tool.name))[:3]
        names = ", ".join(f"`{tool.name}` {tool.tokens:,}" for tool in longest)
        yield "CG802", "warning", message, f"the longest are {names}"
