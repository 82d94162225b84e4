"""Drafts of tools for a first manifest: what is known of each, with every guess marked as one and its reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import callgate._core as _core

API_VERSION: Final = "callgate/v1"
LONGEST_NAME: Final = 256
# The smallest policy that compiles: only what it finds wrong with the tools beside it is looked at.
_ANY_POLICY: Final = {
    "apiVersion": API_VERSION, "kind": "GuardPolicy", "metadata": {"name": "any"},
    "spec": {"budgets": {"steps": 1, "tokens": 1}, "time": {"task": "1s"}},
}  # fmt: skip


class ImportFault(ValueError):
    """Something that no manifest can be made from; the text says what is wrong and where, without the file's name."""


class Guess(NamedTuple):
    """A value that nobody has said, and why it is likely."""

    value: Any
    why: str


@dataclass
class Draft:
    """A tool as far as it is known.

    `keys` are those of a tool in a manifest, in the order in which they are written. Their values are plain data; a
    `Guess` stands where a value is guessed, also inside of maps. `title` is a name for people, `remarks` what an author
    has to know and no key says.
    """

    name: str
    keys: dict[str, Any] = field(default_factory=dict)
    title: str | None = None
    remarks: list[str] = field(default_factory=list)

    def plain(self) -> dict[str, Any]:
        """The tool as data, guesses taken for true."""
        found = plain(self.keys)
        return found if isinstance(found, dict) else {}


def plain(value: Any) -> Any:
    """A value with the guesses inside taken for true.

    >>> plain({"effect": Guess("read", "named so"), "idempotent": True})
    {'effect': 'read', 'idempotent': True}
    """
    if isinstance(value, Guess):
        return plain(value.value)
    return {key: plain(child) for key, child in value.items()} if isinstance(value, dict) else value


def manifest_of(name: str, drafts: Iterable[Draft]) -> dict[str, Any]:
    """The manifest of some drafts as a document, guesses taken for true."""
    tools = {draft.name: draft.plain() for draft in drafts}
    head = {"apiVersion": API_VERSION, "kind": "ToolManifest", "metadata": {"name": name}}
    return {**head, "spec": {"tools": tools}}


def refuse_odd_name(name: object, where: str) -> str:
    """A tool's name, if a manifest can hold it.

    Raises:
        ImportFault: it is no text, empty, too long, has blanks around it, or holds what no terminal shows.
    """
    if not isinstance(name, str) or not name:
        raise ImportFault(f"{where} has no name")
    shown = name if len(name) <= 60 else name[:60] + "…"
    if len(name) > LONGEST_NAME:
        raise ImportFault(f"the name of {where} has {len(name):,} characters, and {LONGEST_NAME} are the most")
    if name.strip() != name or not name.isprintable():
        raise ImportFault(f"the name of {where}, {shown!a}, has blanks around it or characters that do not show")
    return name


def refuse_equal_names(drafts: Iterable[Draft]) -> None:
    """Refuse two tools of one name.

    Raises:
        ImportFault: there are two; which of them a call means is not known.
    """
    seen: set[str] = set()
    for draft in drafts:
        if draft.name in seen:
            raise ImportFault(f"two tools are named `{draft.name}`: take one of them out")
        seen.add(draft.name)


def leave_out_refused(drafts: list[Draft]) -> None:
    """Take `parameters` that the engine refuses out of the drafts, each with a remark that says why."""
    _, faults = _core.compile_policy(_ANY_POLICY, [("any", manifest_of("any", drafts))])
    by_name = {draft.name: draft for draft in drafts}
    for _, fault in faults:
        steps = fault.pointer
        if (
            fault.severity == "error"
            and len(steps) >= 4
            and steps[:2] == ("spec", "tools")
            and steps[3] == "parameters"
        ):
            draft = by_name[str(steps[2])]
            if draft.keys.pop("parameters", None) is not None:
                draft.remarks.append(f"`parameters` are left out: {fault.message}")
