"""A policy as it was compiled, with where each of its values is written: in a policy, one it extends, or a manifest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from callgate.policy.compile import Manifest, plain
from callgate.policy.load import Document
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
