"""CEL on lifted values, evaluated as a rule is, against the same condition as a Python lambda and elsewhere."""

import importlib.util
import json
import statistics
import sys
from collections.abc import Callable
from typing import Any

from callgate import _core

from .row import Row, on_thread

PAY = 'call.tool == "pay" && args.amount > 100.0'
PRICED = "result.rows.all(r, has(r.name) && r.price > 0.0)"
TARGET_SECONDS, REPEATS = 0.01, 41


def variables(rows: int) -> dict[str, Any]:
    """Make what the conditions read."""
    return {
        "call": {"tool": "pay"},
        "args": {"id": 7, "to": "ACME", "amount": 250.0},
        "result": {"rows": [{"name": "bearing", "price": 12.5} for _ in range(rows)]},
    }


def lambdas(data: dict[str, Any]) -> dict[str, Callable[[], bool]]:
    """Write the conditions in Python."""
    call, args, result = data["call"], data["args"], data["result"]
    return {
        PAY: lambda: call["tool"] == "pay" and args["amount"] > 100.0,
        PRICED: lambda: all("name" in r and r["price"] > 0.0 for r in result["rows"]),
    }


def rows() -> list[Row]:
    """Measure."""
    table = []
    for name, source, size, bar in (
        ("E1", PAY, 0, 3.0),
        ("E3, 20 rows", PRICED, 20, None),
        ("E6, 200 rows", PRICED, 200, None),
    ):
        data = variables(size)
        condition = lambdas(data)[source]
        assert condition() and _core._evaluate_many(source, data, 1) == 1
        times = 20_000 // max(1, size // 2)
        what = f"CEL {name}"
        table.append(_row(what, source, data, times, condition, "Python lambda", bar, times))
        for baseline, other, calls in _others(source, data):
            assert other()
            table.append(_row(what, source, data, times, other, baseline, None, calls))
    table.append(_stopped())
    few, many = variables(0), variables(10_000)
    # lifting happens once a repeat, so it takes enough evaluations to be of no weight; it is measured and taken off
    lift = _core._evaluate_many
    times = 400_000
    pair = on_thread(lambda: lift(PAY, many, times), lambda: lift(PAY, few, times), 15)
    lifting = on_thread(lambda: lift(PAY, many, 0), lambda: lift(PAY, few, 0), 15)
    without = type(pair)(
        [whole - part for whole, part in zip(pair.ours, lifting.ours, strict=True)],
        [whole - part for whole, part in zip(pair.baseline, lifting.baseline, strict=True)],
    )
    table.append(without.row("CEL E1 beside 10,000 unrelated rows", "E1 alone", 1.5, times))
    return table


def _stopped() -> Row:
    """Time how long a condition of a million steps runs until its fuel is gone; deeper nesting is refused at load."""
    numbers = list(range(1_000))

    def ours() -> None:
        try:
            _core._evaluate_many("x.all(a, x.all(b, a + b >= 0))", {"x": numbers}, 1)
        except _core.ExpressionError:
            return
        raise AssertionError("the bound was not hit")

    times = on_thread(ours, lambda: all(a + b >= 0 for a in numbers for b in numbers), 15)
    took = statistics.median(times.baseline)
    return times.row("CEL nested `all` over 1,000, out of fuel, 5 ms at most", "all of it in Python", 0.005 / took)


def _row(
    what: str,
    source: str,
    data: dict[str, Any],
    times: int,
    other: Callable[[], bool],
    baseline: str,
    bar: float | None,
    calls: int,
) -> Row:
    def baseline_run() -> None:
        for _ in range(calls):
            other()

    pair = on_thread(lambda: _core._evaluate_many(source, data, times), baseline_run, REPEATS if calls == times else 9)
    same = type(pair)([seconds / times for seconds in pair.ours], [seconds / calls for seconds in pair.baseline])
    return same.row(what, baseline, bar)


def _others(source: str, data: dict[str, Any]) -> list[tuple[str, Callable[[], bool], int]]:
    """Find the other evaluators; each gets its program compiled, and where it can its data converted, beforehand."""
    found: list[tuple[str, Callable[[], bool], int]] = []
    if importlib.util.find_spec("celpy") is None:
        print("skipped: cel-python is not installed", file=sys.stderr)
    else:
        import celpy

        environment = celpy.Environment()
        program = environment.program(environment.compile(source))
        activation: Any = {name: celpy.json_to_cel(json.loads(json.dumps(value))) for name, value in data.items()}
        found.append(("cel-python", lambda: bool(program.evaluate(activation)), 10))
    if importlib.util.find_spec("cel") is None:
        print("skipped: common-expression-language is not installed (`make bench` installs it)", file=sys.stderr)
    else:
        import cel

        compiled = cel.compile(source)
        found.append(("common-expression-language", lambda: bool(compiled.execute(data)), 200))
    return found
