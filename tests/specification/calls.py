"""What a call is: its tool as declared, its exact and loose identity, its target, the form it stands in."""

import re
from dataclasses import dataclass, field
from typing import Any

from specification.text import ABSENT, canonical, dig, given, seconds

WORLD = ("write", "external", "ui", "unknown")


@dataclass(eq=False)
class Tool:
    """A tool as its manifest declares it, the form of the call applied; an undeclared one has nothing but a name."""

    name: str
    declared: bool
    keys: dict[str, Any]
    form_failed: bool = False

    def __post_init__(self) -> None:
        keys = self.keys
        self.effect: str = "unknown" if self.form_failed else keys.get("effect", "unknown")
        self.idempotent: bool = keys.get("idempotent", self.effect == "read")
        self.groups: list[str] = keys.get("groups", [])
        self.reads: list[str] = keys.get("reads", [])
        self.touches: list[str] = keys.get("touches", [])
        self.identity: dict[str, Any] = keys.get("identity", {})
        self.result: dict[str, Any] = keys.get("result", {})
        self.coverage: dict[str, str] = keys.get("coverage", {})
        self.transfer: bool = keys.get("transfer", False)
        self.parameters: dict[str, Any] = keys.get("parameters", {})
        self.errors: list[dict[str, Any]] = keys.get("errors", [])
        self.retry: dict[str, Any] = keys.get("retry", {})
        self.fresh_for: float = seconds(keys.get("cache", {}).get("ttl", 300))
        waiting = keys.get("waiting", False)
        self.waiting: dict[str, Any] | None = None
        if waiting is not False and waiting is not None:
            self.waiting = {"max_stale": "10m"} | ({} if waiting is True else waiting)


def with_base(keys: dict[str, Any], written: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Lay a tool over the one that it extends, key by key, each as a whole."""
    own = {key: value for key, value in keys.items() if key != "extends" and value is not None}
    return with_base(written[keys["extends"]], written) | own if "extends" in keys else own


def tool_of_call(name: str, arguments: dict[str, Any], manifests: dict[str, dict[str, Any]]) -> Tool:
    """Find the tool, and lay the first form over it whose condition holds."""
    if name not in manifests:
        return Tool(name, False, {})
    keys = dict(manifests[name])
    for form in keys.pop("forms", []):
        holds = dig(form["when"], {"args": arguments})
        if not isinstance(holds, bool):
            return Tool(name, True, keys, form_failed=True)
        if holds:
            return Tool(name, True, keys | {key: value for key, value in form.items() if key != "when"})
    return Tool(name, True, keys)


def one_path(path: str) -> str:
    """Spell a path in one way; `..` stays, since what lies before it may be a link."""
    if re.match(r"[A-Za-z]:|\\\\", path):
        path = path.replace("\\", "/")
    root = "/" if path.startswith("/") else ""
    return root + "/".join(part for part in path.split("/") if part not in ("", ".")) or "."


def normal_arguments(tool: Tool, arguments: dict[str, Any]) -> dict[str, Any]:
    """Give the arguments after `ignore`, `defaults`, `trim`, `casefold`, `paths` and `unordered`."""
    identity = tool.identity
    normal = {name: value for name, value in arguments.items() if name not in identity.get("ignore", [])}
    for name, value in identity.get("defaults", {}).items():
        normal.setdefault(name, value)
    trim = identity.get("trim", [])
    for name, value in normal.items():
        if isinstance(value, str):
            if trim is True or (trim and name in trim):
                value = " ".join(value.split())
            if name in identity.get("casefold", []):
                value = value.lower()
            if name in identity.get("paths", []):
                value = one_path(value)
        elif isinstance(value, list) and name in identity.get("unordered", []):
            value = sorted(value, key=canonical)
        normal[name] = value
    return normal


@dataclass(eq=False)
class Call:
    """A call as it was asked for, and what became of it."""

    id: str
    agent: str
    tool: Tool
    arguments: dict[str, Any]
    hints: dict[str, Any]
    now: float
    new: bool = False
    retry: bool = False
    approved: bool = False
    double: bool = False
    asking: frozenset[str] = frozenset()
    told: set[str] = field(default_factory=set)
    let_through: set[Any] = field(default_factory=set)
    number: int = 0
    key: str = ""
    once: bool = False
    keyless: bool = False
    again: bool = False
    answer: str | None = None

    def __post_init__(self) -> None:
        self.normal = normal_arguments(self.tool, self.arguments)
        self.exact = canonical([self.tool.name, self.arguments])
        group = ABSENT
        if "group" in self.tool.identity:
            group = dig(self.tool.identity["group"], {"args": self.arguments, "hints": self.hints})
        self.loose = canonical([self.tool.name, "group", group] if given(group) else [self.tool.name, self.normal])
        names = self.tool.identity.get("target", [])
        self.target = canonical([self.normal.get(name) for name in names]) if names else None

    @property
    def range(self) -> tuple[str, int, int | None] | None:
        """The part of its target that the call asks for: target, first, and the one after the last if known."""
        if "target" not in self.tool.coverage:
            return None
        first = self.covers("offset") or 0
        length = self.covers("length")
        return canonical(self.covers("target")), first, None if length is None else first + length

    @property
    def list(self) -> str:
        """What ranges and pages are parts of: whatever the arguments ask for that `coverage` does not read."""
        read = {path.removeprefix("args.") for path in self.tool.coverage.values()}
        return canonical({name: value for name, value in self.normal.items() if name not in read})

    @property
    def cursor(self) -> str | None:
        """The page that the call asks for, where the tool declares a cursor."""
        if "cursor" not in self.tool.coverage:
            return None
        return canonical(self.covers("cursor"))

    def covers(self, name: str) -> Any:
        """Read what the tool's `coverage` says of the arguments; None where it says nothing, or they do not."""
        path = self.tool.coverage.get(name)
        value = ABSENT if path is None else dig(path, {"args": self.arguments})
        return None if value is ABSENT else value
