"""A policy with all that it extends, as one document: merged spec, manifests, digest, origins of each value."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .diagnostics import Diagnostic, Place
from .faults import Found, located
from .layers import lay_over, unreachable_notes
from .load import Document, Loaded
from .locked import Lock, locks_of, loosened
from .merge import Merged, Origin, Steps, annotate
from .positions import join_pointer

if TYPE_CHECKING:
    from callgate._core import Fault

API_VERSION = "callgate/v1"
MOST_LAYERS = 64


class Resolved:
    """A policy as the engine gets it.

    `name` is the policy's, or that of the test it is written in; `tree` the merged document with origins; `manifests`
    the manifests that it is written against, by name; `layers` the documents it was made of, the lowest first;
    `diagnostics` what is wrong with the way they fit together, `binding` the name of the binding that was laid over it.
    """

    def __init__(self, name: str, tree: Merged, layers: list[Document], metadata: dict[str, Any]) -> None:
        self.name = name
        self.tree = tree
        self.layers = layers
        self.metadata = metadata
        self.manifests: dict[str, Document] = {}
        self.diagnostics: list[Diagnostic] = []
        self.binding: str | None = None

    @property
    def spec(self) -> dict[str, Any]:
        """The merged spec as plain data, without `extends`."""
        spec = self.tree.at("spec")
        plain = spec.plain() if spec is not None else {}
        return plain if isinstance(plain, dict) else {}

    @cached_property
    def document(self) -> dict[str, Any]:
        """The whole resolved policy as one document."""
        found: dict[str, Any] = {"apiVersion": API_VERSION, "kind": "GuardPolicy", "metadata": self.metadata}
        found.update(self.tree.plain())
        return found

    @property
    def manifest_specs(self) -> dict[str, Any]:
        """The specs of the manifests, by name."""
        return {name: document.data.get("spec") for name, document in self.manifests.items()}

    @property
    def digest(self) -> str:
        """SHA-256, in hex, of the canonical JSON of spec and manifests; `verification` and metadata are left out."""
        import hashlib

        from callgate._core import canonical_json

        text = canonical_json({"manifests": self.manifest_specs, "spec": self.spec})
        return hashlib.sha256(text.encode()).hexdigest()

    def origin(self, steps: Steps) -> Origin:
        """Where the value at some steps of `document` was written; of the absent, what is around it."""
        here = self.tree
        for step in steps:
            below = here.at(step)
            if below is None:
                break
            here = below
        return here.origin

    def is_own(self, steps: Steps) -> bool:
        """Whether the policy writes the value at some steps of `document` itself, and does not inherit it."""
        return self._source_of(steps).document is self.layers[-1]

    def located(self, faults: Iterable[Fault | Found]) -> list[Diagnostic]:
        """Faults of `document` as diagnostics at the places where the values were written."""
        found: list[Diagnostic] = []
        for fault in faults:
            origin = self._source_of(fault.pointer)
            moved = Found(
                fault.code, fault.severity, fault.message, origin.steps, fault.part, fault.hint, span=fault.span
            )
            related = tuple(self._place(at, words) for at, words in fault.related)
            found += [d._replace(related=related + d.related) for d in located(origin.document.positions, [moved])]
        return found

    def _source_of(self, pointer: Steps) -> Origin:
        """The origin of a pointer; steps that the document does not have are kept, for the nearest place around."""
        here = self.tree
        for at, step in enumerate(pointer):
            below = here.at(step)
            if below is None:
                return here.origin._replace(steps=(*here.origin.steps, *pointer[at:]))
            here = below
        return here.origin

    def _place(self, steps: Steps, words: str) -> Place:
        origin = self.origin(steps)
        span = origin.document.positions.value(origin.steps)
        return Place(words, origin.document.source.file, span)


def resolve(loaded: Loaded, document: Document, at: Steps = ("spec",)) -> Resolved:
    """Resolve a policy; once for each place, so that what many tests refer to is made once.

    Args:
        loaded: the documents and packs among which `extends` and `tools` are looked up.
        document: the policy, or a document that has one written out inside, such as a GuardTest.
        at: where in the document its spec stands.

    Returns:
        The resolved policy; what is wrong with `extends`, `locked` and `tools` is in its diagnostics. For the same
        document of the same `loaded` it is the same, as long as nothing is loaded in between; not to be changed.
    """
    key = (id(document.positions), at, len(loaded.documents))
    if key not in loaded.resolved:
        loaded.resolved[key] = _Resolver(loaded).run(document, at)
    found: Resolved = loaded.resolved[key]
    return found


def resolve_all(loaded: Loaded) -> list[Resolved]:
    """Every policy among the documents that were asked for, resolved, in their order."""
    return [resolve(loaded, document) for document in loaded.of_kind("GuardPolicy")]


class _Resolver:
    def __init__(self, loaded: Loaded) -> None:
        self.loaded = loaded
        self.diagnostics: list[Diagnostic] = []
        self.layers: list[tuple[Document, Merged]] = []

    def run(self, document: Document, at: Steps) -> Resolved:
        self._collect(document, at, [])
        tree: Merged | None = None
        locks: list[Lock] = []
        for layer_document, layer in self.layers:
            before, tree = tree, lay_over(tree, layer)
            if before is not None:
                self.diagnostics += [*loosened(locks, before, tree, layer), *unreachable_notes(tree, layer)]
            locks += locks_of(layer, layer_document.name or layer_document.source.file)
        assert tree is not None
        self._keep_locked(tree, locks)
        metadata = document.data.get("metadata")
        plain = metadata if isinstance(metadata, dict) else {}
        resolved = Resolved(document.name or "", tree, [layer for layer, _ in self.layers], plain)
        resolved.manifests = self._manifests(tree)
        resolved.diagnostics = self.diagnostics
        return resolved

    def _collect(self, document: Document, at: Steps, path: list[Document]) -> None:
        """The layers below a policy, each once, then the policy: what two layers share is lowest."""
        spec: Any = document.data
        for step in at:
            spec = spec.get(step) if isinstance(spec, dict) else None
        written = self._annotated(document, spec if isinstance(spec, dict) else {}, at)
        extends = written.value.get("extends")
        tree = Merged({key: value for key, value in written.value.items() if key != "extends"}, written.origin)
        for item in extends.value if extends is not None and isinstance(extends.value, list) else []:
            if not isinstance(item.value, str):
                continue
            parent = self.loaded.find("GuardPolicy", item.value)
            if parent is None:
                if not self._is_hidden(item.value):
                    hint = self.loaded.hint("GuardPolicy", item.value, item.origin.document.source.file)
                    self._report("CG704", f"unknown policy `{item.value}`", item, hint)
            elif parent in path or parent == document:
                chain = [*path, document]
                names = [layer.name or "" for layer in chain[chain.index(parent) :]] + [parent.name or ""]
                words = " → ".join(f"`{name}`" for name in names)
                self._report("CG705", f"`extends` goes round in a circle: {words}", item, "leave one of them out")
            elif len(path) >= MOST_LAYERS:
                message = f"`extends` leads through more than {MOST_LAYERS} policies, one below the other"
                self._report("CG106", message, item, "let policies extend what they need themselves")
            elif all(parent != layer for layer, _ in self.layers):
                self._collect(parent, ("spec",), [*path, document])
        parts = {"spec": tree}
        verification = document.data.get("verification") if at == ("spec",) else None
        if isinstance(verification, dict):
            parts["verification"] = annotate(document, verification, ("verification",))
        self.layers.append((document, Merged(parts, Origin(document, ()))))

    def _annotated(self, document: Document, data: Any, at: Steps) -> Merged:
        """The data with its origins; once, since what many policies extend is the same in each. Not to be changed."""
        key = ("annotated", id(document.positions), at)
        if key not in self.loaded.resolved:
            self.loaded.resolved[key] = annotate(document, data, at)
        found: Merged = self.loaded.resolved[key]
        return found

    def _manifests(self, tree: Merged) -> dict[str, Document]:
        """The manifests that `tools` names; without it, all that were loaded."""
        tools = tree.at("spec", "tools")
        if tools is None or not isinstance(tools.value, list):
            key = ("manifests", len(self.loaded.documents))
            if key not in self.loaded.resolved:  # one for all policies: with thousands of both, the pairs are millions
                every = self.loaded.of_kind("ToolManifest")
                self.loaded.resolved[key] = {document.name: document for document in every if document.name}
            shared: dict[str, Document] = self.loaded.resolved[key]
            return shared
        found: dict[str, Document] = {}
        for item in tools.value:
            if not isinstance(item.value, str):
                continue
            manifest = self.loaded.find("ToolManifest", item.value)
            if manifest is None:
                if not self._is_hidden(item.value):
                    hint = self.loaded.hint("ToolManifest", item.value, item.origin.document.source.file)
                    self._report("CG708", f"unknown manifest `{item.value}`", item, hint)
            else:
                found[item.value] = manifest
        return found

    def _keep_locked(self, tree: Merged, locks: list[Lock]) -> None:
        """Locks add up over the layers, though lists replace: nobody unlocks what is below."""
        unique = {lock.dotted: lock for lock in reversed(locks)}
        if unique and isinstance(tree.value["spec"].value, dict):
            items = [Merged(lock.dotted, lock.origin) for lock in reversed(unique.values())]
            tree.value["spec"].value["locked"] = Merged(
                items, items[-1].origin._replace(steps=items[-1].origin.steps[:-1])
            )

    def _is_hidden(self, name: str) -> bool:
        """Whether a file that could not be read may hold what is missing: its own fault is told already, and stands
        among ours, since what is resolved without it is not whole."""
        hidden = self.loaded.hidden(name)
        self.diagnostics += hidden
        return bool(hidden)

    def _report(self, code: str, message: str, item: Merged, hint: str) -> None:
        document, steps = item.origin.document, item.origin.steps
        span = document.positions.value(steps)
        pointer = join_pointer(steps)
        self.diagnostics.append(Diagnostic(code, "error", message, document.source.file, span, hint, (), pointer))
