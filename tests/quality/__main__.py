"""Measures the packs on the recordings and prints the tables: `python -m tests.quality`; 1 where a bar is missed."""

import sys
from pathlib import Path

from . import bars, families, recordings, splices, sweeps, tables
from .judged import Judged, judge

WELL: dict[str, tuple[str, float]] = {
    "mini_swe_gemini3pro": ("", 0.01),
    "tau_bench_gpt4o_airline": ("reward 1", 0.0),
    "agentrx_tau_retail": ("reward 1", 0.0),
    "intercode": ("reward 1", 0.01),
}
HOST = "mini_swe_gemini3pro"  # whose healthy runs the loops are put into


def measure(traces: Path) -> tuple[list[bars.Bar], str]:
    """Measure everything.

    Args:
        traces: the folder of the recordings.

    Returns:
        The bars, and the tables as Markdown. The same recordings and packs give the same text.
    """
    policy = families.compiled()
    labels, outcomes = recordings.labels(traces), recordings.outcomes(traces)
    groups: dict[tuple[str, str], dict[str, Judged]] = {}
    labelled: dict[tuple[str, str], Judged] = {}
    wanted = {(label.data_set, label.session) for label in labels}
    found: list[bars.Bar] = []
    spliced: list[bars.Bar] = []
    for data_set in recordings.DATA_SETS:
        print(f"judging {data_set} …", file=sys.stderr, flush=True)
        runs = recordings.sessions(traces, data_set)
        judged = judge(policy, runs)
        of_set: dict[str, dict[str, Judged]] = {}
        for name in runs:
            outcome = recordings.outcome_class(outcomes.get(data_set, {}).get(name))
            of_set.setdefault(outcome, {})[name] = judged[name]
        groups |= {(data_set, outcome): of_set[outcome] for outcome in sorted(of_set, reverse=True)}
        labelled |= {(data_set, name): judged[name] for name in runs if (data_set, name) in wanted}
        if data_set in WELL:
            outcome, share = WELL[data_set]
            sessions = of_set[outcome] if outcome else judged
            what = f"{data_set}: {outcome or 'all'} sessions touched by a refusal"
            found.append(bars.of_healthy(what, sessions, share))
        if data_set == HOST:
            loops = {label.session for label in labels if label.label != "ok"}
            names = splices.chosen(runs, frozenset(loops | {name for name in runs if judged[name].actions}))
            put_in = list(splices.spliced(runs, names))
            spliced = bars.of_splices(put_in, judge(policy, {loop.session: loop.records for loop in put_in}))
    found = [*bars.of_labels(labels, labelled), *found, *spliced]
    scored = [
        bars.scores("a note", labels, {key: each.noted for key, each in labelled.items()}),
        bars.scores("a refusal", labels, {key: each.refused for key, each in labelled.items()}),
    ]
    swept = sweeps.rows(judge(policy, sweeps.runs()))
    parts = {
        "Bars": tables.bars(found),
        "Sessions that count against a bar": tables.misses(found),
        "Labelled sessions": tables.score_rows(scored),
        "Sweeps": tables.table(["run", "it", "noted", "refused"], swept),
        "Sessions by outcome": tables.sessions(groups),
        "Answers by reason": tables.reasons(groups),
    }
    return found, "\n\n".join(f"## {title}\n\n{text}" for title, text in parts.items())


def main() -> int:
    """Print the tables; 1 where a bar is missed, 3 without the recordings."""
    traces = recordings.folder()
    if traces is None:
        print("no recordings: set CALLGATE_SHARED to the folder that holds `traces`", file=sys.stderr)
        return 3
    found, text = measure(traces)
    print(text)
    missed = [bar for bar in found if not bar.met]
    if missed:
        print(f"{len(missed)} of {len(found)} bars missed", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
