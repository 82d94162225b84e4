"""A policy as it was compiled, with where each of its values is written: in a policy, one it extends, or a manifest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from callgate.policy.compile import Manifest, plain
from callgate.policy.load import Document
from callgate.policy.merge import Merged
from callgate.policy.resolve import Resolved

Steps = tuple[str | int, ...]


class Part(NamedTuple):
    """A resolved policy and the manifests that it was compiled against."""

    resolved: Resolved
    manifests: Sequence[Manifest]

    @classmethod
    def of(cls, resolved: Resolved, manifests: Sequence[Manifest] | None) -> Part:
        """With the policy's own manifests where there are no others."""
        if manifests is None:
            manifests = [Manifest(name, document) for name, document in resolved.manifests.items()]
        return cls(resolved, manifests)

    @property
    def documents(self) -> tuple[dict[str, Any], list[tuple[str, dict[str, Any]]]]:
        """The resolved policy and the manifests as plain data, as the core takes them."""
        return self.resolved.document, plain(self.manifests)

    def origin(self, document: int, pointer: Steps) -> tuple[Document, Steps]:
        """Where something is written. `document` is -1 for the policy, else the position of the manifest."""
        if document < 0:
            origin = self.resolved.origin(pointer)
            return origin.document, origin.steps
        manifest = self.manifests[document]
        return manifest.document, (*manifest.steps, *pointer[1:])


def places_of(part: Part, among: set[int]) -> dict[int, list[tuple[int, Steps]]]:
    """Where in a part each value stands, as (document, pointer), by the node of the text that it is written in.

    Only what is written in one of the documents `among` is there, which are known by their positions.
    """
    found: dict[int, list[tuple[int, Steps]]] = {}

    def add(document: Document, steps: Steps, at: int, pointer: Steps) -> None:
        child = document.positions.find(steps) if id(document.positions) in among else None
        if child is not None:
            found.setdefault(id(child.node), []).append((at, pointer))

    def of_policy(tree: Merged, pointer: Steps) -> None:
        add(tree.origin.document, tree.origin.steps, -1, pointer)
        if isinstance(tree.value, dict):
            for key, inner in tree.value.items():
                of_policy(inner, (*pointer, key))
        elif isinstance(tree.value, list):
            for at, inner in enumerate(tree.value):
                of_policy(inner, (*pointer, at))

    def of_manifest(document: Document, at: int, value: Any, steps: Steps, pointer: Steps) -> None:
        add(document, steps, at, pointer)
        inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for step, inner in inside:
            of_manifest(document, at, inner, (*steps, step), (*pointer, step))

    of_policy(part.resolved.tree, ())
    for at, (_, document, steps) in enumerate(part.manifests):
        if id(document.positions) in among:
            of_manifest(document, at, document.data["spec"], steps, ("spec",))
    return found
