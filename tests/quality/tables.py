"""The tables of a measurement, as Markdown."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from .bars import Bar, Scores
from .judged import Judged


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table.

    Example:
        >>> print(table(["bar", "met"], [["a", "yes"]]))
        | bar | met |
        |---|---|
        | a | yes |
    """
    lines = [list(headings), *map(list, rows)]
    text = ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join([text[0], "|" + "---|" * len(headings), *text[1:]])


def bars(found: Iterable[Bar]) -> str:
    """The bars with what was measured."""
    rows = []
    for bar in found:
        measured = f"{bar.count} of {bar.of:,} ({bar.count / max(bar.of, 1):.1%})"
        rows.append((bar.what, measured, bar.wanted, "yes" if bar.met else "NO"))
    return table(["bar", "measured", "wanted", "met"], rows)


def misses(found: Iterable[Bar]) -> str:
    """Each session that counts against a bar, met or not."""
    lines = []
    for bar in found:
        if bar.missed:
            lines += [f"{bar.what}:", *(f"- {told}" for told in bar.missed), ""]
    return "\n".join(lines).rstrip() or "none"


def score_rows(found: Iterable[Scores]) -> str:
    """Precision, recall and delay."""
    rows = []
    for each in found:
        delays = (f"{each.median_delay:+g}", f"{each.longest_delay:+d}")
        rows.append((each.sort, f"{each.precision:.2f}", f"{each.recall:.2f}", *delays))
    return table(["", "precision", "recall", "delay, median", "delay, longest"], rows)


def sessions(groups: Mapping[tuple[str, str], Mapping[str, Judged]]) -> str:
    """Sessions with a note, with a refusal and with a stop, by data set and outcome."""
    rows = []
    for (data_set, outcome), judged in groups.items():
        noted = sum(bool(each.notes) for each in judged.values())
        refused = sum(each.refused is not None for each in judged.values())
        stopped = sum(any(action == "stop" for action, _ in each.actions.values()) for each in judged.values())
        rows.append(
            (data_set, outcome, f"{len(judged):,}", *(_share(each, len(judged)) for each in (noted, refused, stopped)))
        )
    return table(["data set", "outcome", "sessions", "noted", "refused or reused", "stopped"], rows)


def reasons(groups: Mapping[tuple[str, str], Mapping[str, Judged]]) -> str:
    """How often each action came for each reason, by outcome, all data sets together."""
    counts: dict[str, Counter[tuple[str, str]]] = {}
    for (_, outcome), judged in groups.items():
        for each in judged.values():
            counts.setdefault(outcome, Counter()).update(each.counts())
    keys = sorted({key for counter in counts.values() for key in counter}, key=lambda key: (key[0], key[1]))
    rows = [
        (action, reason, *(f"{counts[outcome][action, reason]:,}" for outcome in counts)) for action, reason in keys
    ]
    return table(["action", "reason", *counts], rows)


def _share(count: int, of: int) -> str:
    return f"{count:,} ({count / max(of, 1):.1%})"
