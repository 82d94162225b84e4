"""How much one file of policies, manifests or tests may hold."""

from __future__ import annotations

from typing import Final, NamedTuple


class Limits(NamedTuple):
    """How much one file may hold. Nodes count with all aliases expanded."""

    bytes: int = 1024 * 1024
    depth: int = 64
    nodes: int = 100_000
    key_length: int = 1024
    faults: int = 100


DEFAULT_LIMITS: Final = Limits()
TEXT_AS_A_VALUE: Final = 100
"""Characters of a text that count like a node where an alias copies it."""
