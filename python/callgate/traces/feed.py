"""Chunks of a trace fed to a replay, and what was wrong with their lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import callgate._core as _core

from .lines import LONGEST_LINE, Chunk


class Fault(NamedTuple):
    """A line that was skipped: its file, its number from 1, and why."""

    file: str
    line: int
    why: str


def faults_of(replay: _core.Replay, chunk: Chunk, file: str) -> Iterator[Fault]:
    """Feed a chunk, and give what was wrong with its lines, in their order."""
    found = [(line, f"longer than {LONGEST_LINE >> 20} MiB") for line in chunk.too_long]
    found += [(chunk.first + at, why) for at, why in replay.feed(chunk.lines)]
    return (Fault(file, line, why) for line, why in found)
