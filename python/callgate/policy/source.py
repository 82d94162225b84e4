"""The text of one file: decoding with the exact place of the first bad byte, offsets turned into lines and columns."""

from __future__ import annotations

import re
from bisect import bisect_right

from .diagnostics import Diagnostic, Span

# What YAML 1.2 does not allow in a stream, and the three that YAML 1.1 takes for line breaks and 1.2 does not (NEL, LS,
# PS): parsers disagree on those, and inside a string they can be written as escapes. Two parts, since a character class
# that goes beyond Latin-1 takes longer to compile than everything else here takes to run.
_REFUSED_LATIN = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_REFUSED_BEYOND = ("\u2028", "\u2029", "\ufeff", "\ufffe", "\uffff")
_BREAK = re.compile("\r\n|\r|\n")
_MARKER = re.compile(r"(?:\A|(?<=[\r\n]))(?:---|\.\.\.)(?=[ \t\r\n]|\Z)")


class Source:
    """The decoded text of a file.

    `file` is the path as shown in diagnostics, `label` the shorter name that stands in comments of a resolved policy.
    Offsets count code points from the start of the text, after a byte order mark.
    """

    __slots__ = ("_markers", "_starts", "file", "label", "text")

    def __init__(self, file: str, text: str, label: str | None = None) -> None:
        self.file = file
        self.label = file if label is None else label
        self.text = text
        self._starts: list[int] | None = None
        self._markers: list[int] | None = None

    @property
    def starts(self) -> list[int]:
        """The offset at which each line begins."""
        if self._starts is None:
            self._starts = [0, *(found.end() for found in _BREAK.finditer(self.text))]
        return self._starts

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both from 1."""
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1

    def document(self, line: int) -> int:
        """Which document a line belongs to: how many `---` and `...` stand at the beginning of lines up to it."""
        if self._markers is None:
            self._markers = [self.position(found.start())[0] for found in _MARKER.finditer(self.text)]
        return bisect_right(self._markers, line)

    def span(self, start: int, end: int) -> Span:
        """The span from offset `start` to offset `end`, the end exclusive."""
        return Span(*self.position(start), *self.position(max(start, end)))

    def line(self, number: int) -> str:
        """The text of a line without its break; empty past the end of the file."""
        if not 1 <= number <= len(self.starts):
            return ""
        end = self.starts[number] if number < len(self.starts) else len(self.text)
        return self.text[self.starts[number - 1] : end].rstrip("\r\n")


def decode(file: str, data: bytes, max_bytes: int, label: str | None = None) -> tuple[Source, Diagnostic | None]:
    """Decode the bytes of a YAML file as UTF-8, with or without a byte order mark.

    The source always comes back, so that a snippet can be shown; beside a diagnostic it is not fit for parsing.
    """
    body = data.removeprefix(b"\xef\xbb\xbf")
    if len(data) > max_bytes:
        source = Source(file, body[:max_bytes].decode("utf-8", "replace"), label)
        end = len(source.text)
        message = f"file is larger than {max_bytes:,} bytes"
        return source, Diagnostic("CG106", "error", message, file, source.span(end, end), "split it into several files")
    try:
        source = Source(file, body.decode("utf-8"), label)
    except UnicodeDecodeError as error:
        source = Source(file, body.decode("utf-8", "replace"), label)
        at = len(body[: error.start].decode("utf-8"))
        hint = "save the file as UTF-8"
        if body[:2] in (b"\xff\xfe", b"\xfe\xff"):
            hint = "this looks like UTF-16; save the file as UTF-8"
        message = f"byte 0x{body[error.start]:02x} is not valid UTF-8"
        return source, Diagnostic("CG107", "error", message, file, source.span(at, at + 1), hint)
    refused = _first_refused(source.text)
    if refused is None:
        return source, None
    point = ord(source.text[refused])
    escape = f"\\x{point:02x}" if point < 0x100 else f"\\u{point:04x}"
    message = f"character U+{point:04X} is not allowed in YAML text"
    hint = f"inside double quotes it can be written as `{escape}`"
    return source, Diagnostic("CG111", "error", message, file, source.span(refused, refused + 1), hint)


def _first_refused(text: str) -> int | None:
    latin = _REFUSED_LATIN.search(text)
    places = [at for char in _REFUSED_BEYOND if (at := text.find(char)) >= 0]
    if latin is not None:
        places.append(latin.start())
    return min(places, default=None)
