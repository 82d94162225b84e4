"""Files that lie beside one that was loaded: where a document is that nobody named."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from .limits import Limits
from .reading import read
from .source import decode

MOST_FILES: Final = 200
"""Files of a folder that are looked into."""


def file_beside(file: str, kind: str, name: str, limits: Limits) -> str | None:
    """The name of a file in the same folder that holds a document of a kind and name; None if there is none.

    Args:
        file: the file beside which is looked, which itself is left out.
        kind: the kind of the document.
        name: its `metadata.name`.
        limits: how much a file may hold.

    Example:
        >>> file_beside("no/such/folder/policy.yaml", "ToolManifest", "shop", Limits()) is None
        True
    """
    near = [*Path(file).parent.glob("*.yaml"), *Path(file).parent.glob("*.yml")]
    for path in sorted(near)[:MOST_FILES]:
        if path.name != Path(file).name and path.is_file() and _holds(path, kind, name, limits):
            return path.name
    return None


def _holds(path: Path, kind: str, name: str, limits: Limits) -> bool:
    try:
        with path.open("rb") as handle:
            data = handle.read(limits.bytes + 1)
    except OSError:
        return False
    source, fault = decode(path.name, data, limits.bytes)
    if fault is not None or name not in source.text or kind not in source.text:
        return False
    found = [positions.data for positions in read(source, limits).documents]
    metadata = [each.get("metadata") for each in found if isinstance(each, dict) and each.get("kind") == kind]
    return any(isinstance(each, dict) and each.get("name") == name for each in metadata)
