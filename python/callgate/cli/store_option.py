"""The option `--store`, and the store that it, the environment or the project's settings name."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from callgate.cli import UsageError

DEFAULT: Final = "callgate.db"
T = TypeVar("T")


def add_store(parser: argparse.ArgumentParser) -> None:
    """Declare `--store`."""
    said = f"the store (default: $CALLGATE_STORE, else `store` of callgate.yaml, else `{DEFAULT}` in this folder)"
    parser.add_argument("--store", metavar="FILE", help=said)


def existing_store(named: str | None, opened: Callable[[Path], T]) -> T:
    """Open the store that is meant; a command makes none.

    Args:
        named: what `--store` says.
        opened: opens it.

    Raises:
        UsageError: there is none of that name.
    """
    path = Path(named or os.environ.get("CALLGATE_STORE") or _of_settings() or DEFAULT)
    if not path.is_file():
        raise UsageError(f"there is no store `{path}`: name one with `--store`")
    return opened(path)


def _of_settings() -> str | None:
    from callgate.policy.settings import settings_here

    return settings_here().store_path()
