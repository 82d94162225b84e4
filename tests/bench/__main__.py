"""Runs the measurements and prints one table: `python -m tests.bench [name ...]`, all of them without a name."""

import importlib
import sys
from pathlib import Path

from .row import Row

HEADINGS = ("what", "ours", "baseline", "of it", "ratio", "p10–p90", "bar", "met?")


def names() -> list[str]:
    """Name the measurements: `batch` for `bench_batch.py`."""
    return sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py"))


def cells(row: Row) -> tuple[str, ...]:
    """Write one line of the table."""
    return (
        row.what,
        seconds(row.ours),
        row.baseline,
        seconds(row.baseline_seconds),
        f"{row.ratio:.3f}×",
        f"{row.spread[0]:.3f}–{row.spread[1]:.3f}",
        "–" if row.bar is None else f"{row.bar:.3g}×",
        {None: "–", True: "yes", False: "NO"}[row.met],
    )


def seconds(value: float) -> str:
    """Write a duration in the unit that suits it, with three digits."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def table(rows: list[Row]) -> str:
    """Line the columns up."""
    lines = [HEADINGS, *(cells(row) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEADINGS))]
    text = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    return "\n".join([text[0], "  ".join("-" * width for width in widths), *text[1:]])


def main(wanted: list[str]) -> int:
    """Run what is wanted; exit code 2 for a name that does not exist, 1 where a bar is not met."""
    known = names()
    if unknown := [name for name in wanted if name not in known]:
        print(f"no measurement is named `{unknown[0]}`; there are {', '.join(known)}", file=sys.stderr)
        return 2
    rows: list[Row] = []
    for name in wanted or known:
        print(f"measuring {name} …", file=sys.stderr, flush=True)
        rows += importlib.import_module(f".bench_{name}", __package__).rows()
    print(table(rows))
    return 1 if any(row.met is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
