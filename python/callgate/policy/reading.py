"""The documents of a text: plain YAML in the core, at once; whatever else there is by the careful reader.

Nearly every file is plain throughout and without a fault, and nobody asks where something in it stands. So the core
reads it without events and places, and PyYAML is not even imported. The core gives up on a text with a fault, and on
everything that could be read in two ways: `compose` then reads it from the start. Places are made by `compose` too,
for the first one that is asked for.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import callgate._core as _core

from .limits import DEFAULT_LIMITS, Limits
from .positions import Composed, Node, Positions
from .source import Source

# Bytes of a key; a longer one is left to the careful reader, which counts characters and has its limit a little above.
_LONGEST_PLAIN_KEY: Final = 1000


def read(source: Source, limits: Limits = DEFAULT_LIMITS) -> Composed:
    """Read all documents of a text.

    Args:
        source: the text, which has passed `decode`.
        limits: how much it may hold.

    Returns:
        What `compose` returns for the same text.

    Example:
        >>> [document.data for document in read(Source("x.yaml", "on: no")).documents]
        [{'on': 'no'}]
    """
    longest = min(limits.key_length, _LONGEST_PLAIN_KEY)
    found = _core.read_yaml(source.text, limits.depth, limits.nodes, longest)
    if found is None:
        from .compose import compose

        return compose(source, limits)
    places = _Places(source, limits)
    return Composed(tuple(Positions.later(source, data, partial(places.root, at)) for at, data in enumerate(found)), ())


class _Places:
    """The trees of places of a text, made when the first is asked for."""

    def __init__(self, source: Source, limits: Limits) -> None:
        self._source = source
        self._limits = limits
        self._made: tuple[Positions, ...] = ()

    def root(self, at: int) -> Node:
        """The tree of one of the documents, from 0."""
        from .compose import compose

        self._made = self._made or compose(self._source, self._limits).documents
        return self._made[at].root
