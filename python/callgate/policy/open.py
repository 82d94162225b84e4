"""One policy, checked and compiled, by pack name, file or folder: the way in for whatever runs policies."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import callgate._core as _core
from callgate.path_list import path_list

from .bindings import compile_bindings
from .check import check, heeded
from .compile import Manifest, compile_policy
from .diagnostics import Diagnostic, ordered
from .exceptions import lifting
from .load import Document, Loaded, load
from .resolve import Resolved, resolve


class Opened(NamedTuple):
    """What became of a policy: `compiled` is None if there is an error in `diagnostics`, which also hold warnings.

    `resolved` is None where no policy was found, or bindings say which apply; `loaded` has everything that was read,
    the text of the files included.
    """

    compiled: _core.CompiledPolicy | None
    resolved: Resolved | None
    diagnostics: list[Diagnostic]
    loaded: Loaded


def open_policy(
    where: str | os.PathLike[str],
    *,
    name: str | None = None,
    manifests: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
    packs: Sequence[Path] | None = None,
) -> Opened:
    """Load, check, resolve and compile a policy.

    Args:
        where: a file or folder with policies and manifests; or, where no such path exists, the name of a shipped pack.
        name: which policy, by itself, whatever bindings say; None for those that the bindings there name, without
            bindings for the only one.
        manifests: files and folders, or one of them, with manifests that are in force beside the policy's own.
        packs: folders with a folder for each pack; None for the packs that ship with callgate.

    Returns:
        The policy, or all that is wrong with it and with what was loaded beside it; nothing is raised for that.

    Example:
        >>> open_policy("no-such-pack").diagnostics[0].message
        'no such file or folder, and no such pack'
    """
    path = os.fspath(where)
    # an empty name, as of a variable that is not set, would be the folder that happens to be the current one
    there = path != "" and Path(path).exists()
    more = path_list(manifests)
    loaded = load([*([path] if there else []), *more], packs=packs)
    if name is None and (only_tests := _only_tests(loaded, path)) is not None:
        return Opened(None, None, [only_tests], loaded)
    diagnostics = check(loaded)
    further = [document for document in loaded.of_kind("ToolManifest") if document.name and more]
    bindings = loaded.of_kind("GuardBinding") if there and name is None else []
    if bindings:
        own = [Manifest(document.name or "", document) for document in further]
        compiled, found = (None, []) if _has_error(diagnostics) else compile_bindings(loaded, bindings, own)
        diagnostics = ordered([*diagnostics, *heeded(loaded, found)])
        return Opened(None if _has_error(diagnostics) else compiled, None, diagnostics, loaded)
    document = _document(loaded, path, name, there)
    if document is None:
        if not _has_error(diagnostics):
            diagnostics.append(_not_found(loaded, path, name, there))
        return Opened(None, None, diagnostics, loaded)
    resolved = resolve(loaded, document)
    beside = {document.name or "": document for document in further}
    in_force = [Manifest(name, document) for name, document in {**beside, **resolved.manifests}.items()]
    compiled, found = compile_policy(resolved, in_force)
    diagnostics = ordered([*diagnostics, *heeded(loaded, found)])
    if compiled is None or _has_error(diagnostics):
        return Opened(None, resolved, diagnostics, loaded)
    return Opened(compiled.with_exceptions(lifting(loaded, resolved.name)), resolved, diagnostics, loaded)


def _document(loaded: Loaded, path: str, name: str | None, there: bool) -> Document | None:
    if name is not None or not there:
        return loaded.find("GuardPolicy", path if name is None else name)
    policies = loaded.of_kind("GuardPolicy")
    return policies[0] if len(policies) == 1 else None


def _only_tests(loaded: Loaded, path: str) -> Diagnostic | None:
    """Said of a path that holds tests and nothing that could be run: what they are about lies elsewhere."""
    kinds = {document.kind for document in loaded.documents}
    if kinds != {"GuardTest"} or loaded.diagnostics:
        return None
    hint = f"`callgate test {path}` runs them; name the policy that they are about to load it"
    return _fault("CG711", "no policy, only tests of one", path, hint)


def _not_found(loaded: Loaded, path: str, name: str | None, there: bool) -> Diagnostic:
    if name is not None:
        return _fault("CG704", f"unknown policy `{name}`", path, loaded.hint("GuardPolicy", name))
    if not there:
        return _fault("CG701", "no such file or folder, and no such pack", path, loaded.hint("GuardPolicy", path))
    known = [f"`{policy.name}`" for policy in loaded.of_kind("GuardPolicy")]
    if known:
        return _fault("CG711", "several policies, and none was named", path, "there are " + ", ".join(known))
    return _fault("CG711", "no policy", path, "a policy is a document with `kind: GuardPolicy`")


def _fault(code: str, message: str, file: str, hint: str) -> Diagnostic:
    return Diagnostic(code, "error", message, file, None, hint)


def _has_error(diagnostics: Sequence[Diagnostic]) -> bool:
    return any(diagnostic.severity == "error" for diagnostic in diagnostics)
