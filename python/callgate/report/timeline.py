"""A judged run as a timeline that people can read: each call, its verdict, and what the model got to read."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from .color import paint
from .snippet import printable

# What is said of a call, by the verdict's action.
_WORDS: Final = {"allow": "allowed", "reuse": "reused", "ask": "asked", "refuse": "refused", "stop": "stopped"}
_ROLES: Final = {"reused": "refused", "asked": "noted"}
_NARROWEST: Final = 60


class Moment(NamedTuple):
    """A call of the run and what was decided of it.

    `action` is the verdict's; `why` are pairs of a reason and its sentence; `notes` are pairs of a reason and what the
    model reads beside the result; `reply` is what it reads instead of one, a JSON text; `failure` says in a word or two
    how the call failed.
    """

    seq: int
    time: float
    tool: str
    arguments: Mapping[str, Any]
    action: Literal["allow", "reuse", "ask", "refuse", "stop"] = "allow"
    why: tuple[tuple[str, str], ...] = ()
    notes: tuple[tuple[str, str], ...] = ()
    reply: str | None = None
    failure: str | None = None

    @property
    def verdict(self) -> str:
        """The verdict in a word: allowed, noted, reused, asked, refused, stopped."""
        return "noted" if self.action == "allow" and self.notes else _WORDS[self.action]


class Remark(NamedTuple):
    """Something that was said between two calls."""

    seq: int
    time: float
    by: str
    text: str


def render(run: Sequence[Moment | Remark], width: int = 100, color: bool = False) -> str:
    """The timeline: a head, a line for each call and remark, and below a call each reason in a sentence.

    Args:
        run: the calls and remarks, in order.
        width: columns to fill at most; below 60 counts as 60.
        color: whether verdicts are coloured.

    Returns:
        The text, ending with a line break.

    Example:
        >>> print(render([Moment(1, 2.0, "search", {"words": "teapot"})]), end="")
        seq  time  tool    arguments                                                      verdict
          1   2 s  search  words: teapot                                                  allowed
    """
    width = max(width, _NARROWEST)
    moments = [item for item in run if isinstance(item, Moment)]
    times = max((len(_seconds(item.time)) for item in run), default=4)
    tools = min(max((len(printable(moment.tool)) for moment in moments), default=4), width // 4)
    indent = 3 + 2 + times + 2
    verdicts = max((len(_verdict(moment, False)) for moment in moments), default=7)
    room = max(width - indent - tools - 2 - 2 - verdicts, 12)
    lines = [paint(f"seq  {'time':>{times}}  {'tool':{tools}}  {'arguments':{room}}  verdict", "bold", color)]
    for item in run:
        lead = f"{item.seq:>3}  {_seconds(item.time):>{times}}  "
        if isinstance(item, Remark):
            said = shortened(f"{item.by}: “{item.text}”", width - indent)
            lines.append(lead + paint(said, "faint", color))
            continue
        tool = shortened(item.tool, tools)
        arguments = shortened(spelled(item.arguments), room)
        lines.append(f"{lead}{tool:{tools}}  {arguments:{room}}  {_verdict(item, color)}")
        lines += [line for text in _because(item) for line in _wrapped(text, indent, width)]
    return "".join(line.rstrip() + "\n" for line in lines)


def spelled(arguments: Mapping[str, Any]) -> str:
    """Arguments as `name: value, name: value`, texts without quotes.

    >>> spelled({"order": "4711", "tags": ["a"]})
    'order: 4711, tags: ["a"]'
    """
    values = ((name, value if isinstance(value, str) else json.dumps(value)) for name, value in arguments.items())
    return ", ".join(f"{name}: {value}" for name, value in values)


def shortened(text: str, room: int) -> str:
    """A text on one line, its end cut off where it takes more than `room` characters.

    >>> shortened("where is my order", 10)
    'where is …'
    """
    text = printable(" ".join(text.split()))
    return text if len(text) <= room else text[: room - 1] + "…"


def _seconds(time: float) -> str:
    return f"{time:.0f} s"


def _verdict(moment: Moment, color: bool) -> str:
    word = moment.verdict
    return paint(word, _ROLES.get(word, word), color) + (f" ({moment.failure})" if moment.failure else "")


def _because(moment: Moment) -> list[str]:
    """Each reason with its sentence; of notes the first sentence, the advice after it left out."""
    noted = ((reason, message.partition(". ")[0]) for reason, message in moment.notes)
    return [f"{reason}: {sentence[:1].lower()}{sentence[1:].rstrip('.')}" for reason, sentence in (*noted, *moment.why)]


def _wrapped(text: str, indent: int, width: int) -> list[str]:
    blanks = " " * (indent + 2)
    return textwrap.wrap(
        printable(text), width, initial_indent=f"{' ' * indent}↳ ", subsequent_indent=blanks, break_on_hyphens=False
    )
