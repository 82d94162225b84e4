"""The JSON Schemas of what commands print for programs, as they travel with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).parent / "schemas"


def shapes() -> list[str]:
    """The names of the outputs that have a schema.

    >>> shapes()
    ['CheckReport', 'TestReport']
    """
    return sorted(path.stem for path in _FOLDER.glob("*.json"))


def shape(name: str) -> str:
    """The schema (2020-12) of an output, as text.

    Raises:
        KeyError: no output has that name.
    """
    if name not in shapes():
        raise KeyError(name)
    return (_FOLDER / f"{name}.json").read_text(encoding="utf-8")
