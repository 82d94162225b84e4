"""Fingerprints against orjson and hashlib, lifting against orjson, on arguments of 60 bytes, 1 KB and 21 KB."""

import hashlib
from collections.abc import Callable
from typing import Any

import orjson

from callgate import _core, fingerprint

from .row import Row, on_thread

# the shapes of a shell command, of a search with filters, and of a list of records that is handed on
SMALL: dict[str, Any] = {"command": "grep -rn 'def main' src/ | head -20", "timeout": 30}
MIDDLE: dict[str, Any] = {
    "query": "rolling bearing 6204 SKF, in stock, delivery within a week",
    "limit": 20,
    "offset": 0,
    "filters": {"price": {"min": 1.5, "max": 249.99}, "tags": ["bearing", "steel", "sealed"], "in_stock": True},
    "items": [
        {"id": 1000 + n, "sku": f"SKU-{n:05d}", "name": f"Deep groove ball bearing {n}", "price": 12.5 + n, "qty": n}
        for n in range(9)
    ],
}
LARGE: dict[str, Any] = {
    "items": [
        {
            "id": 1000 + n,
            "sku": f"SKU-{n:05d}",
            "name": f"Deep groove ball bearing {n}",
            "price": 12.5 + n * 0.37,
            "qty": n,
            "tags": ["a", "bc"],
            "note": "a line of text that says a little more about it",
        }
        for n in range(128)
    ]
}
SIZES = (("60 B", SMALL, 3_000, 0.7), ("1 KB", MIDDLE, 500, 1.1), ("21 KB", LARGE, 30, 1.2))
REPEATS = 61


def rows() -> list[Row]:
    """Measure."""
    table = []
    for size, arguments, calls, bar in SIZES:

        def ours(arguments: dict[str, Any] = arguments) -> object:
            return fingerprint("search", arguments)

        def baseline(arguments: dict[str, Any] = arguments) -> object:
            return hashlib.sha256(orjson.dumps(arguments, option=orjson.OPT_SORT_KEYS)).hexdigest()

        times = on_thread(repeated(ours, calls), repeated(baseline, calls), REPEATS)
        table.append(times.row(f"fingerprint, {size}", "orjson sorted + hashlib", bar, calls))
    for size, arguments, calls, _ in SIZES:

        def ours(arguments: dict[str, Any] = arguments) -> object:
            return _core._lift(arguments)

        def baseline(arguments: dict[str, Any] = arguments) -> object:
            return orjson.dumps(arguments)

        times = on_thread(repeated(ours, calls), repeated(baseline, calls), REPEATS)
        table.append(times.row(f"lifting, {size}", "orjson.dumps", 2.0, calls))
    return table


def repeated(call: Callable[[], object], calls: int) -> Callable[[], None]:
    """Make one call of many, so that the clock's own time does not count."""

    def run() -> None:
        for _ in range(calls):
            call()

    return run
