"""The recorded runs: lines by session, what came of each session, and what two readers made of some."""

import gzip
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

DATA_SETS: Final = (
    "intercode", "mini_swe_gemini3pro", "reflexion_hotpotqa_react", "toolbench", "autogpt_benchmarks",
    "tau_bench_gpt4o_airline", "agentrx_tau_retail", "magentic_one_whowhen_agentrx", "swe_agent_demos",
    "openhands_samples",
)  # fmt: skip
Records = list[dict[str, Any]]


class Label(NamedTuple):
    """What two readers made of a session: `label` is loop, ok or borderline; of a loop, the third equivalent attempt as
    the later of the two has it, and the end of the stuck stretch."""

    data_set: str
    session: str
    label: str
    onset: int
    last: int
    kind: str


def folder() -> Path | None:
    """Find the recordings; None where they are absent."""
    root = Path(__file__).resolve().parent.parent.parent.parent / "shared"
    found = Path(os.environ.get("CALLGATE_SHARED") or root) / "traces"
    return found if found.is_dir() else None


def sessions(traces: Path, data_set: str) -> dict[str, Records]:
    """Read a data set: the records of each session, in the order of the file."""
    found: dict[str, Records] = {}
    with gzip.open(traces / f"{data_set}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            found.setdefault(record["session"], []).append(record)
    return found


def outcomes(traces: Path) -> dict[str, dict[str, float | str]]:
    """Read reward or exit status by data set and session."""
    with gzip.open(traces / "outcomes.json.gz", "rt", encoding="utf-8") as text:
        found: dict[str, dict[str, float | str]] = json.load(text)
    return found


def outcome_class(outcome: float | str | None) -> str:
    """Name the group of sessions that an outcome belongs to.

    Example:
        >>> [outcome_class(each) for each in (1.0, 0.67, 0.0, "Submitted", None)]
        ['reward 1', 'reward < 1', 'reward 0', 'Submitted', 'not known']
    """
    if outcome is None:
        return "not known"
    if isinstance(outcome, str):
        return outcome
    return "reward 1" if outcome >= 1 else "reward 0" if outcome <= 0 else "reward < 1"


def labels(traces: Path) -> list[Label]:
    """Read the labelled sessions."""
    found = json.loads((traces / "labels.json").read_text(encoding="utf-8"))
    return [
        Label(
            each["dataset"], each["session"], each["label"],
            max(each.get("onset_seq", [0])), each.get("last_seq", 0), each.get("kind", ""),
        )
        for each in found
    ]  # fmt: skip


def lines_of(runs: Iterable[Records]) -> bytes:
    """Write records as lines of a trace."""
    return b"".join(json.dumps(record).encode() + b"\n" for records in runs for record in records)
