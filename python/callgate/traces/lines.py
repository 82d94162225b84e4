"""Trace files as chunks of whole lines, plain or compressed, in memory that a chunk and the longest line bound."""

from __future__ import annotations

import json
import os
import re
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple, Protocol, cast

CHUNK: Final = 1 << 20
"""Bytes, uncompressed, that are read at once."""
LONGEST_LINE: Final = 64 << 20
"""Bytes of one line; the core reads no longer text either."""
STDIN: Final = Path("-")
"""Stands for standard input; a file of that name is `./-`."""
_GZIP: Final = b"\x1f\x8b"
_MARK: Final = b"\xef\xbb\xbf"


class ByteStream(Protocol):
    """What a trace is read from."""

    def read(self, size: int, /) -> bytes:
        """At most so many bytes; none at the end."""


class TraceError(Exception):
    """A trace file that cannot be read, or not to its end; the text says why, without the file's name."""


class NoLines(TraceError):
    """JSON, but none that has a record a line."""


class Chunk(NamedTuple):
    """Some whole lines.

    `first` is the number of the first one, from 1; `read` how many bytes of the file were read up to here, as it lies
    on the disk. Of a line that is too long there is an empty one in its place, and its number stands in `too_long`.
    """

    lines: bytes
    first: int
    read: int
    too_long: tuple[int, ...] = ()


def refuse_unreadable(path: Path) -> None:
    """Look whether a trace can be opened at all.

    Raises:
        TraceError: it is not there, no file, or not for us to read.
    """
    if path == STDIN:
        return
    if path.is_dir():
        raise TraceError("this is a folder: name the trace files in it")
    try:
        with path.open("rb") as file:
            head = file.read(2)
    except OSError as error:
        raise TraceError(_why(error)) from None
    if path.suffix == ".gz" and head != _GZIP:
        raise TraceError("the file is empty" if not head else "the name ends with `.gz`, but this is no gzip file")


def is_trace(source: Path | ByteStream) -> bool:
    """Whether something looks like a trace: its first line that is not empty is a record, with a `session`.

    Raises:
        TraceError: it cannot be read.
    """
    try:
        lines = (line for chunk in chunks(source) for line in chunk.lines.splitlines() if line.strip())
        record = json.loads(next(lines, b"null"))
    except (NoLines, ValueError, RecursionError):
        return False
    return isinstance(record, dict) and "session" in record


def chunks(path: Path | ByteStream, *, size: int = CHUNK, longest: int = LONGEST_LINE) -> Iterator[Chunk]:
    """Read a trace file.

    Args:
        path: JSON lines, compressed with gzip or not; the file itself tells which. `-` is standard input.
        size: bytes that are read at once.
        longest: bytes of the longest line; longer ones are left out and told.

    Yields:
        The lines in their order; the last one may lack its line break.

    Raises:
        TraceError: the file cannot be read, or is one JSON document over all its lines; or it breaks off, and then all
            that could be read was yielded before.
    """
    try:
        with _opened(path) as counted:
            head = counted.peek(2)
            stream: ByteStream = counted
            if head == _GZIP:
                import gzip  # only where it is wanted

                stream = cast("ByteStream", gzip.GzipFile(fileobj=counted, mode="rb"))  # type: ignore[call-overload]
            first = True
            for chunk in _whole_lines(stream, counted, size, longest):
                if first and chunk.lines.strip():
                    _refuse_whole_documents(chunk.lines)
                    first = False
                yield chunk
    except EOFError:
        raise TraceError("the file is cut off: its gzip stream has no end") from None
    except (OSError, zlib.error) as error:
        from gzip import BadGzipFile

        if isinstance(error, (BadGzipFile, zlib.error)):
            raise TraceError(f"the gzip stream is broken: {str(error).lower()}") from None
        raise TraceError(_why(error)) from None


def _refuse_whole_documents(lines: bytes) -> None:
    """Refuse JSON that is no JSON lines, by its first line: a list of records, or a record over several lines."""
    head = lines.lstrip()
    line = head.partition(b"\n")[0].strip()
    if line == b"[" or re.match(rb"\[\s*[\[{]", line):
        raise NoLines("this is one JSON list, and a trace has a record a line: `jq -c '.[]'` makes such lines of it")
    if line == b"{":
        raise NoLines("this is JSON over several lines, and a trace has a record a line: `jq -c .` makes such lines")


class _Counted:
    """A stream that tells how many bytes were taken from it, which a pipe does not."""

    def __init__(self, stream: ByteStream) -> None:
        self.taken = 0
        self._stream = stream
        self._ahead = b""

    def peek(self, size: int) -> bytes:
        while len(self._ahead) < size and (more := self._stream.read(size - len(self._ahead))):
            self._ahead += more
        return self._ahead[:size]

    def read(self, size: int = -1, /) -> bytes:
        data, self._ahead = self._ahead, b""
        if size < 0 or len(data) < size:
            data += self._stream.read(size if size < 0 else size - len(data))
        elif len(data) > size:
            data, self._ahead = data[:size], data[size:]
        self.taken += len(data)
        return data


@contextmanager
def _opened(path: Path | ByteStream) -> Iterator[_Counted]:
    if path == STDIN:
        path = sys.stdin.buffer
    if not isinstance(path, Path):
        yield _Counted(path)
        return
    with path.open("rb") as file:
        yield _Counted(file)


def _whole_lines(stream: ByteStream, file: _Counted, size: int, longest: int) -> Iterator[Chunk]:
    rest: list[bytes] = []  # the beginning of a line whose end has not come yet
    held, number, dropping = 0, 1, False
    broken: BaseException | None = None
    at_start = True
    while True:
        try:
            data = stream.read(size)
            if at_start:
                data, at_start = _without_mark(data, stream), False
        except (EOFError, OSError, zlib.error) as error:
            broken, data = error, b""
        if not data:
            break
        end = data.rfind(b"\n") + 1
        if end == 0:
            held += len(data)
            dropping = dropping or held > longest
            rest = [] if dropping else [*rest, data]
            continue
        lines, first = b"".join([*rest, data[:end]]), number
        if dropping:
            lines = data[data.find(b"\n") : end]
        yield Chunk(lines, first, file.taken, (first,) if dropping else ())
        number += lines.count(b"\n")
        rest, held, dropping = [data[end:]], len(data) - end, False
    if dropping or any(rest):
        yield Chunk(b"".join(rest), number, file.taken, (number,) if dropping else ())
    if broken is not None:
        raise broken


def _without_mark(data: bytes, stream: ByteStream) -> bytes:
    """The beginning of a stream without a byte order mark, which some editors write."""
    while data and len(data) < len(_MARK) and _MARK.startswith(data) and (more := stream.read(len(_MARK) - len(data))):
        data += more
    return stream.read(len(_MARK)) if data == _MARK else data.removeprefix(_MARK)


def _why(error: OSError) -> str:
    reason = os.strerror(error.errno) if error.errno is not None else str(error)
    return f"cannot read the file: {reason.lower()}"
