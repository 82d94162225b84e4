"""One policy, checked and resolved, by pack name, file or folder: the way in for whatever runs policies."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from .check import check, together
from .diagnostics import Diagnostic
from .load import Loaded, load
from .resolve import Resolved, resolve
from .source import Source


class PolicyError(ValueError):
    """A policy that cannot be used. `diagnostics` say why, `sources` hold the text of the files for snippets."""

    def __init__(self, diagnostics: Sequence[Diagnostic], sources: Mapping[str, Source]) -> None:
        self.diagnostics = list(diagnostics)
        self.sources = sources
        super().__init__("\n".join(_line(diagnostic) for diagnostic in self.diagnostics))


def open_policy(
    where: str | os.PathLike[str], *, name: str | None = None, packs: Sequence[Path] | None = None
) -> Resolved:
    """Load, check and resolve a policy.

    Args:
        where: a file or folder with policies and manifests; or, where no such path exists, the name of a shipped pack.
        name: which policy, where there are several; None for the only one.
        packs: folders with a folder for each pack; None for the packs that ship with callgate.

    Returns:
        The resolved policy; its diagnostics are empty.

    Raises:
        PolicyError: there is no such policy, several where none was named, or an error in one of them.

    Example:
        >>> try:
        ...     open_policy("no-such-pack")
        ... except PolicyError as error:
        ...     error.diagnostics[0].message
        'no such file or folder, and no such pack'
    """
    path = os.fspath(where)
    there = Path(path).exists()
    loaded = load([path] if there else [], packs=packs)
    policies = loaded.of_kind("GuardPolicy")
    if there and name is None:
        document = policies[0] if len(policies) == 1 else None
    else:
        document = loaded.find("GuardPolicy", name if name is not None else path)
    errors = [diagnostic for diagnostic in check(loaded) if diagnostic.severity == "error"]
    if not errors and document is None:
        errors = [_not_found(loaded, path, name, there)]
    if errors or document is None:
        raise PolicyError(errors, loaded.sources)
    resolved = resolve(loaded, document)
    faults = [*resolved.diagnostics, *together(resolved)]  # of a pack, which `check` looks at as a layer only
    errors = [diagnostic for diagnostic in faults if diagnostic.severity == "error"]
    if errors:
        raise PolicyError(errors, loaded.sources)
    return resolved


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


def _line(diagnostic: Diagnostic) -> str:
    at = f":{diagnostic.span.line}:{diagnostic.span.column}" if diagnostic.span is not None else ""
    hint = f" ({diagnostic.hint})" if diagnostic.hint is not None else ""
    return f"{diagnostic.file}{at}: {diagnostic.severity}[{diagnostic.code}]: {diagnostic.message}{hint}"
