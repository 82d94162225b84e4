"""Paths that a caller names: several, or one by itself, which is not to be taken letter by letter."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def path_list(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[Path]:
    """The paths, in their order.

    Args:
        paths: several, or one.

    Returns:
        A list; of one path a list of one.

    Example:
        >>> [path.name for path in path_list("policies")], [path.name for path in path_list(["a", "b"])]
        (['policies'], ['a', 'b'])
    """
    return [Path(path) for path in ([paths] if isinstance(paths, (str, os.PathLike)) else paths)]
