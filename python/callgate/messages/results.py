"""Results that reached the model and tell it too little: broken off, or taken out to save room."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final, Literal

from .arguments import is_cut_off
from .finding import Finding, finding
from .pairing import Pairs
from .parts import text_of

LOST: Final = "Tool result lost during context compaction"
"""What stands in the place of a result that is gone."""

_SHORTEST_JSON: Final = 20
_TAIL: Final = 120
_CUT: Final = re.compile(
    r"[\[(<…]\s*(?:\.\.\.|…)?\s*(?:the )?(?:rest|output|content|result|text|response|file)?\s*"
    r"(?:was |is |has been )?(?:truncated|cut off|clipped)\b"
    r"|(?:[\[(<…]|\.\.\.)[^\n\])>]{0,20}?\b\d[\d,]* (?:more )?"
    r"(?:characters|chars|lines|bytes|tokens) (?:truncated|omitted|elided|cut|not shown)\b",
    re.IGNORECASE,
)
_CLEARED: Final = re.compile(
    r"[\[(<]\s*(?:old |earlier |previous )?(?:tool )?(?:result|output|content|response)s?(?: content)?"
    r"(?: was| were| has been)? (?:cleared|removed|trimmed|omitted|elided|pruned|dropped|deleted)[^.\n]{0,60}[\])>.]*",
    re.IGNORECASE,
)


def how_weak(text: str) -> Literal["cut_off", "cleared"] | None:
    """Whether the text of a result breaks off, or only says that there was a result.

    Told are JSON without its end, a mark such as `[output truncated]` in the last line, and a text that as a whole is a
    mark such as `[Old tool result content cleared]`.

    >>> how_weak('{"orders": [{"id": 4711, "sta'), how_weak("[Old tool result content cleared]")
    ('cut_off', 'cleared')
    """
    whole = text.strip()
    if _CLEARED.fullmatch(whole):
        return "cleared"
    if _CUT.search(whole[-_TAIL:]):
        return "cut_off"
    if len(whole) >= _SHORTEST_JSON and whole[0] in "{[":
        try:
            json.loads(whole)
        except json.JSONDecodeError as error:
            return "cut_off" if is_cut_off(whole, error) else None
        except (RecursionError, ValueError):
            return None
    return None


def weak_results(pairs: Pairs) -> Iterator[Finding]:
    """Findings about results that are cut off or cleared."""
    for turn in pairs.turns:
        for call in turn.calls:
            answer = pairs.first.get(call.place)
            weakness = how_weak(text_of(answer.content)) if answer is not None else None
            if answer is None or weakness is None:
                continue
            if weakness == "cut_off":
                message = f"the result of `{call.tool}` breaks off"
                hint = "say in it how to get the rest (an offset, a file), or the model calls again"
                yield finding("result_cut_off", answer.index, call.id, message, hint, related=call.index)
            else:
                message = f"the result of `{call.tool}` was taken out; the model cannot read it any more"
                hint = "keep the facts in a summary (`task.summary`), or drop the call together with it"
                yield finding("result_cleared", answer.index, call.id, message, hint, related=call.index)
