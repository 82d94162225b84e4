"""The engine: one step of the detectors in the core, and admit + observe through the public interface.

The detectors' baseline is the best incremental Python that we know; both give the same totals, or no clock runs.
"""

import array
import importlib.util
import itertools
import math
import random
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Sequence
from operator import ge
from pathlib import Path

from callgate import Gate, _core

from .row import Paired, Row, on_thread
from .workload import Step, steps, write_policy

SYMBOLS = 20_000
MAX_PERIOD, LAPS = 8, 3
WIDE = 1_000_000


def agent() -> list[int]:
    """64-bit symbols as agents make them: some common, most rare, now and then a cycle."""
    dice = random.Random(11)
    names = [dice.getrandbits(64) for _ in range(5_000)]
    made: list[int] = []
    while len(made) < SYMBOLS:
        made += [names[min(int(dice.paretovariate(0.8)), len(names)) - 1] for _ in range(dice.randrange(10, 100))]
        lap = [dice.choice(names) for _ in range(dice.randrange(1, MAX_PERIOD + 1))]
        made += lap * dice.randrange(1, 5)
    return made[:SYMBOLS]


def distinct(count: int) -> list[int]:
    """Symbols of which none comes twice."""
    return [n * 0x9E3779B97F4A7C15 % 2**64 for n in range(1, count + 1)]


def python_steps(symbols: Sequence[int], window: int) -> tuple[int, int, int, float]:
    """Bring repeats, cycles, distinct and entropy up to date for each symbol, and total what each step found.

    The sum of c·log2 c changes by a table's entry a symbol; a run per lag grows only where the symbol is among the last
    eight, which one look at them tells.
    """
    ring: deque[int] = deque()
    counts: dict[int, int] = {}
    recent: deque[int] = deque(maxlen=MAX_PERIOD)
    none = [0] * MAX_PERIOD
    runs = none
    needed = [(LAPS - 1) * lag for lag in range(1, MAX_PERIOD + 1)]
    weights = [0.0] + [count * math.log2(count) for count in range(1, window + 1)]
    gains = [after - before for before, after in itertools.pairwise(weights)]
    logs = [0.0] + [math.log2(count) for count in range(1, window + 1)]
    weighted, held = 0.0, 0
    repeats = cycles = different = 0
    bits = 0.0
    for symbol in symbols:
        if held == window:
            oldest = ring.popleft()
            count = counts[oldest] - 1
            if count:
                counts[oldest] = count
                weighted -= gains[count]
            else:
                del counts[oldest]
        else:
            held += 1
        ring.append(symbol)
        count = counts.get(symbol, 0)
        counts[symbol] = count + 1
        weighted += gains[count]
        if symbol in recent:
            runs = [run + 1 if symbol == earlier else 0 for run, earlier in zip(runs, recent, strict=False)]
            runs += none[len(runs) :]
            if True in map(ge, runs, needed):
                cycles += next(lag for lag, run in enumerate(runs, 1) if run >= (LAPS - 1) * lag)
        else:
            runs = none
        recent.appendleft(symbol)
        repeats += count
        different += len(counts)
        bits += logs[held] - weighted / held
    return repeats, cycles, different, bits


def detector_rows() -> list[Row]:
    """Measure the detectors' steps."""
    symbols = agent()
    packed = array.array("Q", symbols).tobytes()
    found, expected = _core._detector_steps(packed, 50, MAX_PERIOD, LAPS), python_steps(symbols, 50)
    assert found[:3] == expected[:3], (found, expected)
    assert math.isclose(found[3], expected[3], rel_tol=1e-5), (found, expected)
    # several runs of ours a repeat, so that its time is long enough to be read
    runs = 10
    times = on_thread(
        lambda: [_core._detector_steps(packed, 50, MAX_PERIOD, LAPS) for _ in range(runs)],
        lambda: python_steps(symbols, 50),
        41,
    )
    times = Paired([seconds / runs for seconds in times.ours], times.baseline)
    what = "detector step: repeats, cycles 1–8, distinct, entropy, window 50"
    table = [times.row(what, "incremental Python", 0.1, SYMBOLS)]
    policy = _policy()
    times = on_thread(lambda: _core._all_detector_steps(policy, packed), lambda: python_steps(symbols, 50), 21)
    table.append(times.row("detector step: all detectors, window 50", "incremental Python, those four", None, SYMBOLS))
    few, many = (array.array("Q", distinct(count)).tobytes() for count in (SYMBOLS, 2 * WIDE))
    times = on_thread(
        lambda: _core._detector_steps(many, WIDE, MAX_PERIOD, LAPS),
        lambda: [_core._detector_steps(few, 50, MAX_PERIOD, LAPS) for _ in range(2 * WIDE // SYMBOLS)],
        9,
    )
    what = "detector step: window 1,000,000, all distinct"
    table.append(times.row(what, "window 50, all distinct", 10.0, 2 * WIDE))
    return table


def _policy() -> _core.CompiledPolicy:
    with tempfile.TemporaryDirectory() as folder:
        return Gate.load(write_policy(Path(folder))).policy


def gate_rows() -> list[Row]:
    """Measure admit + observe."""
    made = steps()
    with tempfile.TemporaryDirectory() as folder:
        gate = Gate.load(write_policy(Path(folder)))
    ours = our_run(gate, made)
    assert ours() == len(made), "callgate refuses part of the workload"
    if importlib.util.find_spec("aura_guard") is None:
        print(
            "skipped: admit + observe, because aura-guard is not installed (`make bench` installs it)", file=sys.stderr
        )
        return []
    theirs = aura_run(made)
    assert theirs() == len(made), "aura-guard refuses part of the workload"
    times = on_thread(ours, theirs, 31)
    what = "admit + observe, 60 B arguments, 1 KB result, five rules"
    return [times.row(what, "aura-guard check_tool + record_result", 0.2, len(made))]


def our_run(gate: Gate, made: list[Step]) -> Callable[[], int]:
    """Run the workload as one task; the answer is how many calls were allowed."""

    def run() -> int:
        task = gate.task("bench")
        allowed = 0
        for step in made:
            verdict = task.admit(step.tool, step.arguments)
            if verdict.allowed:
                task.observe(verdict.call_id, result=step.result)
                allowed += 1
        return allowed

    return run


def aura_run(made: list[Step]) -> Callable[[], int]:
    """Run the same with aura-guard: its detectors as they come, a cost budget, a policy of each tool."""
    from aura_guard import AgentGuard, AuraGuardConfig
    from aura_guard.config import ToolPolicy

    tools = sorted({step.tool for step in made})
    config = AuraGuardConfig(
        secret_key=b"bench-key",
        max_cost_per_run=1e6,
        max_calls_per_tool=100_000,
        query_arg_keys_by_tool={"find_parts": ["keyword"]},
        arg_ignore_keys={"find_parts": {"request_id"}},
        side_effect_tools=set(),
        tool_policies={tool: ToolPolicy(max_calls=100_000) for tool in tools},
    )

    def run() -> int:
        guard = AgentGuard(config=config)
        allowed = 0
        for step in made:
            decision = guard.check_tool(step.tool, step.arguments)
            if decision.action.value == "allow":
                guard.record_result(ok=True, payload=step.result)
                allowed += 1
        return allowed

    return run


def rows() -> list[Row]:
    """Measure."""
    return detector_rows() + gate_rows()
