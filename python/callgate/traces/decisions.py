"""The decision log as a file: whole or not there at all."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO


class DecisionsError(Exception):
    """The log cannot be written; the text says why, the file's name included."""


class Decisions:
    """Decisions as JSON lines: what `_core.Replay` tells of each call, after the fields that all of a trace share."""

    def __init__(self, stream: BinaryIO, path: Path) -> None:
        self._stream = stream
        self._path = path
        self._head = b"{"

    def begin(self, shared: dict[str, Any]) -> None:
        """Say what every line from here on begins with."""
        self._head = json.dumps(shared, separators=(",", ":")).encode()[:-1] + b","

    def add(self, lines: bytes) -> None:
        """Write lines of JSON objects.

        Raises:
            DecisionsError: the disk is full, or does not work.
        """
        # the fields of a line follow the shared ones; a line is a JSON object without line breaks inside
        text = b"".join(self._head + line[1:] for line in lines.splitlines(keepends=True))
        with _told(self._path):
            self._stream.write(text)


@contextmanager
def decisions_to(path: Path) -> Iterator[Decisions]:
    """Write a decision log. It takes the place of `path` when all is written and on the disk; till then, and on any
    failure, what stood there before stays.

    Raises:
        DecisionsError: it cannot be written.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise DecisionsError(f"cannot write `{path}`: it is a folder")
    if target.exists() and not stat.S_ISREG(target.stat().st_mode):  # a pipe or a device is written to, not replaced
        with _told(path), target.open("wb", buffering=0) as stream:
            yield Decisions(stream, path)
        return
    beside = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with _told(path), beside.open("xb") as stream:
            yield Decisions(stream, path)
            stream.flush()
            os.fsync(stream.fileno())
        with _told(path):
            beside.replace(target)
    finally:
        with suppress(OSError):
            beside.unlink()


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno is not None else str(error)
        raise DecisionsError(f"cannot write `{path}`: {reason.lower()}") from None
