"""Comments that ask for silence and say why: `# callgate: ignore[CG403] the host counts these itself`.

Comments are what stands between the events of the YAML parser, so that a `#` inside a text is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from yaml.events import CollectionStartEvent, NodeEvent, ScalarEvent

from .diagnostics import Diagnostic, Span, did_you_mean
from .events import SyntaxFault, events
from .ignores import Ignore, Ignores
from .pages import diagnostic_codes
from .source import Source

_FORM: Final = re.compile(r"#+[ \t]*callgate:[ \t]*(?P<word>[^\s\[]*)[ \t]*(?:\[(?P<codes>[^\]]*)\])?(?P<why>.*)")
_CODE: Final = re.compile(r"[^\s,]+")
_LOOKS_MEANT: Final = re.compile(r"\[|\bCG\d")
_PROPERTY: Final = re.compile(r"[&!]\S*|[ \t]+|#[^\r\n]*|\r\n|\r|\n")
_HINT: Final = "write `# callgate: ignore[CG403] why`, several codes with commas"


def ignores_of(source: Source) -> Ignores:
    """Read the ignores of a file, and what is wrong with the way they are written.

    Example:
        >>> source = Source("a.yaml", "a: '# callgate: ignore[CG101] none'  # callgate: ignore[CG403] counted outside")
        >>> [(each.line, each.code, each.why) for each in ignores_of(source).asked]
        [(1, 'CG403', 'counted outside')]
    """
    found = Ignores([], [], {})
    alone: set[int] = set()
    told: list[tuple[int, bool, int, str]] = []
    for start, text in _comments(source, found.around):
        line, column = source.position(start)
        is_alone = not source.line(line)[: column - 1].strip()
        if is_alone:
            alone.add(line)
        told.append((line, is_alone, start, text))
    for line, is_alone, start, text in told:
        about = line
        while is_alone and about in alone:  # several comments may stand above one line
            about += 1
        _read(source, start, text, about, found)
    return found


def _read(source: Source, start: int, text: str, about: int, found: Ignores) -> None:
    form = _FORM.fullmatch(text)
    if form is None:
        return
    word, codes, why = form["word"], form["codes"], form["why"].strip(" \t:-–—")
    span = source.span(start, start + len(text))

    def fault(code: str, message: str, hint: str, at: Span = span) -> None:
        found.faults.append(Diagnostic(code, "warning", message, source.file, at, hint))

    if word != "ignore" or codes is None or not codes.strip(" \t,"):
        near = word == "ignore" or did_you_mean(word.lower(), ["ignore"]) is not None
        if near or _LOOKS_MEANT.search(text):  # else it is a sentence that begins with our name
            fault("CG123", "this comment ignores nothing", _HINT)
        return
    if not why:
        fault("CG120", f"`{text}` does not say why", "say behind the bracket why the finding is none here")
        return
    for each in _CODE.finditer(codes):
        begin = start + form.start("codes") + each.start()
        at = source.span(begin, begin + len(each.group()))
        if each.group() in diagnostic_codes():
            found.asked.append(Ignore(source.file, about, each.group(), at, why))
        else:
            hint = did_you_mean(each.group().upper(), diagnostic_codes()) or "`callgate code` lists all codes"
            fault("CG122", f"there is no code `{each.group()}`", hint, at)


def _comments(source: Source, around: dict[int, int]) -> Iterator[tuple[int, str]]:
    """The comments of a file with their offsets: what begins with `#` in the gaps between its scalars.

    Where the text stops being YAML, what is behind is not looked at.
    """
    text, at = source.text, 0
    try:
        for event in events(source):
            if not isinstance(event, NodeEvent) or event.start_mark is None or event.end_mark is None:
                continue
            start, end = event.start_mark.index, event.end_mark.index
            yield from _in_gap(text, at, start)
            at = max(at, start)
            if isinstance(event, (ScalarEvent, CollectionStartEvent)) and (event.anchor or event.tag):
                while part := _PROPERTY.match(text, at):
                    if part.group().startswith("#"):
                        yield at, part.group()
                    at = part.end()
            if not isinstance(event, ScalarEvent):
                continue
            if event.style in ("|", ">"):
                yield from _in_gap(text, at, _line_end(text, at))
            first, last = source.position(at)[0], source.position(max(at, end - 1))[0]
            around.update(dict.fromkeys(range(first + 1, last + 1), first))
            at = max(at, end)
        yield from _in_gap(text, at, len(text))
    except SyntaxFault:
        return


def _in_gap(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    """Comments between two offsets, where nothing but indicators, blanks and comments stands."""
    at = text.find("#", start, end)
    while at >= 0:
        stop = at + 1
        if at == 0 or text[at - 1] in " \t\r\n":
            stop = _line_end(text, at)
            yield at, text[at:stop].rstrip()
        at = text.find("#", stop, end)


def _line_end(text: str, at: int) -> int:
    ends = [found for sign in "\r\n" if (found := text.find(sign, at)) >= 0]
    return min(ends, default=len(text))
