"""YAML events from PyYAML: the C parser where it is there, the pure one elsewhere, one set of diagnostics for both.

Only events are used. PyYAML's composer and constructor read YAML 1.1, keep the last of two equal keys, and overflow the
stack on deep nesting.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, Literal

from yaml.error import MarkedYAMLError, YAMLError
from yaml.events import Event
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner, ScannerError
from yaml.tokens import TagToken

from .diagnostics import Diagnostic, Place
from .source import Source

try:
    from yaml._yaml import CParser
except ImportError:  # PyYAML built without libyaml
    CParser = None  # type: ignore[assignment, misc]

_TAG_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_;/?:@&=+$.!~*'()%")
_TAG_HANDLE = re.compile(r"!(?:[0-9A-Za-z_-]*!)?")

Backend = Literal["c", "pure"]
DEFAULT_BACKEND: Backend = "pure" if CParser is None else "c"


class SyntaxFault(Exception):
    """The text is no YAML; carries the diagnostic that says where and why."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


class _PureParser(Reader, Scanner, Parser):
    """PyYAML's pure parser, brought to libyaml's reading of tabs, tags, unknown directives, and `:` in flow lists."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)

    def scan_to_next_token(self) -> None:
        """Skip blanks and comments; tabs are blanks between tokens, never where a line's indentation stands."""
        while True:
            while self.peek() == " " or (self.peek() == "\t" and (self.flow_level or not self.allow_simple_key)):
                self.forward()
            if self.peek() == "#":
                while self.peek() not in "\0\r\n":
                    self.forward()
            if not self.scan_line_break():  # type: ignore[no-untyped-call]
                return
            if not self.flow_level:
                self.allow_simple_key = True

    def scan_plain_spaces(self, indent: int, start_mark: Any) -> list[str]:
        """The blanks inside a plain scalar, folded; tabs count as blanks past the indentation."""
        length = 0
        while self.peek(length) in " \t":
            length += 1
        blanks = self.prefix(length)
        self.forward(length)
        if self.peek() not in "\r\n":
            return [blanks] if blanks else []
        first, breaks = self.scan_line_break(), ""  # type: ignore[no-untyped-call]
        self.allow_simple_key = True
        while not self._at_document_marker() and self.peek() in " \t\r\n":
            if self.peek() == "\t" and self.column < indent:
                raise ScannerError("while scanning a plain scalar", start_mark, "a tab character", self.get_mark())
            if self.peek() in " \t":
                self.forward()
            else:
                breaks += self.scan_line_break()  # type: ignore[no-untyped-call]
        return [] if self._at_document_marker() else [breaks or " "] if first == "\n" else [first + breaks]

    def scan_plain(self) -> Any:
        """A plain scalar; in a flow list a `:` right before a bracket or comma is no end of a key."""
        token = super().scan_plain()
        if self.flow_level and self.peek() == ":" and self.peek(1) in ",?[]{}":
            context = "while scanning a plain scalar"
            raise ScannerError(context, token.start_mark, "found unexpected ':'", self.get_mark())
        return token

    def scan_tag(self) -> Any:
        """A tag: `!`, `!name`, `!!name`, `!handle!name`; the verbatim form is left to PyYAML."""
        start = self.get_mark()
        if self.peek(1) == "<":
            return super().scan_tag()
        length = 1
        while self.peek(length) in _TAG_CHARACTERS:
            length += 1
        text = self.prefix(length)
        handle = _TAG_HANDLE.match(text).group()  # type: ignore[union-attr]
        self.forward(length)
        if (handle == text != "!") or self.peek() not in ("\0 \t\r\n," if self.flow_level else "\0 \t\r\n"):
            raise ScannerError("while scanning a tag", start, "did not find the end of the tag", self.get_mark())
        value = (None, "!") if text == "!" else (handle, text[len(handle) :])
        return TagToken(value, start, self.get_mark())

    def scan_block_scalar_indentation(self) -> Any:
        """The indentation of a block scalar, found from its first line; it may hold no tab."""
        found = super().scan_block_scalar_indentation()
        self._refuse_tab()
        return found

    def scan_block_scalar_breaks(self, indent: int) -> Any:
        """Empty lines of a block scalar, and the indentation of the next; it may hold no tab."""
        found = super().scan_block_scalar_breaks(indent)
        if self.column < indent:
            self._refuse_tab()
        return found

    def _refuse_tab(self) -> None:
        if self.peek() == "\t":
            raise ScannerError("while scanning a block scalar", None, "a tab character", self.get_mark())

    def _at_document_marker(self) -> bool:
        return bool(self.column == 0 and self.prefix(3) in ("---", "...") and self.peek(3) in "\0 \t\r\n")

    def scan_directive_name(self, start_mark: Any) -> str:
        """The name of a directive; only `YAML` and `TAG` have a meaning."""
        name = str(super().scan_directive_name(start_mark))  # type: ignore[no-untyped-call]
        if name not in ("YAML", "TAG"):
            raise ScannerError("while scanning a directive", start_mark, "found unknown directive name", start_mark)
        return name


def events(source: Source, backend: Backend = DEFAULT_BACKEND) -> Iterator[Event]:
    """The events of a text, one by one. Raises `SyntaxFault` where it stops being YAML."""
    parser: Any = CParser(source.text) if backend == "c" else _PureParser(source.text)
    try:
        while (event := parser.get_event()) is not None:
            yield event
    except YAMLError as error:
        raise SyntaxFault(_syntax_fault(source, error)) from None
    except (ValueError, OverflowError):  # chr() in the pure parser
        at = min(parser.index, len(source.text))
        message, span = "an escape beyond U+10FFFF", source.span(at, at + 1)
        raise SyntaxFault(Diagnostic("CG101", "error", message, source.file, span)) from None
    finally:
        parser.dispose()


_ALIGN = "this line does not fit the indentation of the block it stands in"
_ALIGN_HINT = "align it with the lines of that block"

# By words that both parsers use: what we say instead, the hint, and the words for the place in `context_mark`.
_WORDS: tuple[tuple[str, str, str | None, str | None], ...] = (
    ("mapping values are not allowed", "a `:` that begins a map cannot stand here",
     "put the value in quotes, or begin the map on a line of its own", None),
    ("could not find expected ':'", "a key without a `:`",
     "write `key: value`; mind the indentation of this line", "the key begins here"),
    ("expected <block end>", _ALIGN, _ALIGN_HINT, "the block begins here"),
    ("did not find expected key", _ALIGN, _ALIGN_HINT, "the block begins here"),
    ("did not find expected '-' indicator", _ALIGN, _ALIGN_HINT, "the block begins here"),
    ("expected ',' or ']'", "expected `,` or `]`", None, "the list begins here"),
    ("expected ',' or '}'", "expected `,` or `}`", None, "the map begins here"),
    ("found unknown escape character", "unknown escape in a double-quoted string",
     "write a backslash as `\\\\`, or use single quotes", None),
    ("expected escape sequence of", "an escape with too few hexadecimal digits", None, None),
    ("block sequence entries are not allowed", "a list item cannot begin here",
     "begin the list on a line of its own", None),
    ("mapping keys are not allowed", "a map key cannot begin here", None, None),
    ("expected the node content", "a value is missing here", None, None),
    ("expected '<document start>'", "expected the end of the document",
     "begin a further document with a line `---`", None),
    ("undefined tag handle", "custom tags are not allowed", None, None),
)  # fmt: skip


def _syntax_fault(source: Source, error: Exception) -> Diagnostic:
    if not isinstance(error, MarkedYAMLError):
        return Diagnostic("CG101", "error", f"the text is not YAML: {error}", source.file, source.span(0, 0))
    problem = str(error.problem or error.context or "the text is not YAML")
    at = _offset(source, error.problem_mark or error.context_mark)
    span = source.span(at, at + (at < len(source.text)))
    if source.text[at : at + 1] == "\t" or "tab character" in problem or "'\\t'" in problem:
        return tab_fault(source, at)
    if (found := _by_lines(source, problem, at, error) or _by_columns(source, problem, span.line, error)) is not None:
        return found
    for words, message, hint, context in _WORDS:
        if words in problem:
            related: tuple[Place, ...] = ()
            if context is not None and error.context_mark is not None:
                begin = _offset(source, error.context_mark)
                related = (Place(context, source.file, source.span(begin, begin + 1)),)
            code = "CG104" if words == "undefined tag handle" else "CG101"
            return Diagnostic(code, "error", message, source.file, span, hint, related)
    if "cannot start any token" in problem:
        message, hint = f"`{source.text[at : at + 1]}` cannot begin a value", "put the value in quotes"
        return Diagnostic("CG101", "error", message, source.file, span, hint)
    message = problem.replace("'", "`").replace("<", "").replace(">", "")
    return Diagnostic("CG101", "error", message, source.file, span)


def _by_lines(source: Source, problem: str, at: int, error: MarkedYAMLError) -> Diagnostic | None:
    """What is wrong, where it is a matter of quotes and brackets, as their lines show."""
    from .unquoted import unclosed, unquoted  # only where something is wrong already

    flow = "flow" in str(error.context)
    found = unquoted(source, problem, at, flow)
    in_quotes = "end of stream" in problem or "document separator" in problem
    if found is None and error.context_mark is not None and (flow or in_quotes):
        found = unclosed(source, problem, at, _offset(source, error.context_mark))
    return found


# Problems of a parser that a wrong column brings about, among others.
_OF_COLUMNS: Final = (
    "mapping values are not allowed", "expected <block end>", "did not find expected key",
    "did not find expected '-' indicator", "expected '<document start>'", "could not find expected ':'",
)  # fmt: skip


def _by_columns(source: Source, problem: str, line: int, error: MarkedYAMLError) -> Diagnostic | None:
    """What is wrong, where it is the column in which a line begins, or a colon that the line above lacks."""
    if not any(words in problem for words in _OF_COLUMNS) or "\t" in source.line(line).partition("#")[0]:
        return None
    if "could not find expected" in problem and error.context_mark is not None:
        line = int(error.context_mark.line) + 2  # the line behind the one that was taken for a key
    from .indentation import misplaced, without_colon  # only where something is wrong already

    slipped = "mapping values" in problem or "could not find expected" in problem
    if "mapping values" in problem and error.problem_mark is not None:
        text = source.line(line)[: int(error.problem_mark.column)]
        if ": " in text:  # a second colon in one line is a matter of that line
            return None
    found = (without_colon(source, line) if slipped else None) or misplaced(source, line)
    if found is None:
        return None
    related: tuple[Place, ...] = ()
    if found.near is not None:
        start = source.starts[found.near.line - 1] + found.near.column
        span = source.span(start, start + 1)
        related = (Place(f"{found.near.shown} begins here", source.file, span),)
    return Diagnostic("CG101", "error", found.message, source.file, found.span, found.hint, related)


def tab_fault(source: Source, at: int) -> Diagnostic:
    """The diagnostic for a tab that stands where indentation does."""
    span = source.span(at, at + 1)
    return Diagnostic("CG105", "error", "a tab cannot indent", source.file, span, "indent with spaces")


def _offset(source: Source, mark: Any) -> int:
    return min(int(mark.index), len(source.text)) if mark is not None else 0
