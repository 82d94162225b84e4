"""Checks of a store that processes share, with processes that are killed at random moments and at named steps."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from .messages import LEASE, START, claim, same, settlement, state, taken

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

    from . import OpenStore

STEPS: Final = (
    "before_begin",
    "after_begin",
    "during_the_call",
    "after_the_effect",
    "before_the_record",
    "after_the_record",
)
"""Where a process is killed that runs an effect."""
_BREAKER: Final = {"name": "tool:pay", "failures": 1, "open_for": 30.0, "probes": 1}


def _context() -> Any:
    """Processes that begin from a fresh one: quick, and without the threads and files of whoever checks."""
    # "spawn" is there everywhere; where there is more, one process imports once what all need
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["callgate.testing.stores"])
    return context


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="callgate-check-") as name:
        yield Path(name)


def _note(path: Path, line: str) -> None:
    """Add a line to a file in one write, so that it is there whole or not at all when the process is killed."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(file, f"{line}\n".encode())
    finally:
        os.close(file)


def _noted(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


# A budget


@dataclass(frozen=True, slots=True)
class BudgetRun:
    """What came of `share_a_budget`.

    Attributes:
        calls: claims that were made and answered.
        told_taken: those that were answered with yes.
        used: what the counter stands at in the end.
        most: the most that it was ever seen at.
        kills: processes that were killed.
    """

    calls: int
    told_taken: int
    used: float
    most: float
    kills: int


def share_a_budget(
    open_store: OpenStore, *, processes: int, calls: int, limit: float, kills: int, seed: int = 1
) -> BudgetRun:
    """Let processes use up one budget, kill some at random moments, and look at the counter all the while.

    Each claim takes one of the budget and is settled. A process that is killed may have been granted one that it never
    heard of: that one is spent.

    Args:
        open_store: opens the store, in each process anew.
        processes: so many at a time.
        calls: claims that each makes.
        limit: the budget.
        kills: processes to kill; another one goes on with what is left of their calls.
        seed: of the random moments.

    Raises:
        AssertionError: more was taken than there is, or what was granted is not what was counted.
    """
    chance = random.Random(seed)
    context, store, most = _context(), open_store(), 0.0
    with _folder() as folder:
        running: dict[int, tuple[BaseProcess, int]] = {}

        def begin(number: int, life: int) -> None:
            done = sum(len(_noted(folder / f"{number}-{earlier}")) for earlier in range(life))
            arguments = (open_store, folder / f"{number}-{life}", f"{number}-{life}", calls - done, limit)
            process = context.Process(target=_use_budget, args=arguments)
            process.start()
            running[number] = (process, life)

        for number in range(processes):
            begin(number, 0)
        killed, pause = 0, 0.0
        while running:
            time.sleep(pause)
            pause = chance.uniform(0.0, 0.05)
            most = max(most, store.counters("t").get("tool_calls", 0.0))
            for number, (process, _) in list(running.items()):
                if not process.is_alive():
                    process.join()
                    same("how a process ended", process.exitcode, 0)
                    del running[number]
            # spread over the whole run; only one that is at work: one that is not yet would be killed for nothing
            due = sum(len(_noted(path)) for path in folder.iterdir()) / (processes * calls) * kills
            at_work = [it for it, (_, life) in running.items() if _noted(folder / f"{it}-{life}")]
            if killed < min(kills, due + 1) and at_work and chance.random() < 0.5:
                number = chance.choice(at_work)
                process, life = running[number]
                process.kill()
                process.join()
                killed += process.exitcode != 0
                begin(number, life + 1)
        answers = [line for path in folder.iterdir() for line in _noted(path)]
    used = store.counters("t").get("tool_calls", 0.0)
    told = answers.count("taken")
    same("a process was killed", killed > 0, kills > 0)
    same("more than the limit", max(used, most) > limit, False)
    same(f"granted {told}, killed {killed}, counted {used:g}: as many", told <= used <= told + killed, True)
    if len(answers) >= limit:
        same("what is used when all of it was asked for", used, float(limit))
    return BudgetRun(len(answers), told, used, most, killed)


def _use_budget(open_store: OpenStore, log: Path, name: str, calls: int, limit: float) -> None:
    store = open_store()
    for number in range(calls):
        claim_id = f"{name}-{number}"
        granted = taken(store, claim(claim_id, limit=limit))
        if granted:
            store.settle(settlement(claim_id), START)
        # only now, so that many who are killed hold something of which nobody was told
        _note(log, "taken" if granted else "short")


# Effects


@dataclass(frozen=True, slots=True)
class EffectRun:
    """How an effect stands whose process was killed, and how often it happened."""

    happened: int
    in_lease: str
    after_lease: str


EXPECTED: Final = {
    "before_begin": EffectRun(0, "new", "new"),
    "after_begin": EffectRun(0, "in_flight", "unknown"),
    "during_the_call": EffectRun(0, "in_flight", "unknown"),
    "after_the_effect": EffectRun(1, "in_flight", "unknown"),
    "before_the_record": EffectRun(1, "in_flight", "unknown"),
    "after_the_record": EffectRun(1, "completed", "completed"),
}
"""How it has to stand: new only where it was not begun, completed where that was recorded."""


def kill_at(open_store: OpenStore, step: str, key: str, how: Literal["killed", "raised"] = "killed") -> EffectRun:
    """Begin an effect in a process that dies at a step, and ask for it again in its lease and after it.

    Args:
        open_store: opens the store, in each process anew.
        step: one of `STEPS`.
        key: the effect's key.
        how: whether the process is killed, or an exception ends it that nobody catches.
    """
    with _folder() as folder:
        log = folder / "effects"
        process = _context().Process(target=_run_effect, args=(open_store, step, key, how, log))
        process.start()
        process.join()
        same("how the process ended", process.exitcode, -signal.SIGKILL if how == "killed" else 1)
        happened = len(_noted(log))
    store = open_store()
    # the first asks within the lease and gives back what it got, so that the second finds what the dead one left
    in_lease = state(store, claim(f"{key}-2", key=key, target=key))
    store.release(f"{key}-2", "t", START)
    return EffectRun(happened, in_lease, state(store, claim(f"{key}-3", key=key, target=key), START + LEASE))


def _run_effect(open_store: OpenStore, step: str, key: str, how: str, log: Path) -> None:
    if how == "raised":
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # the traceback is meant, and nobody needs to read it

    def reach(here: str) -> None:
        if here == step and how == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if here == step:
            raise RuntimeError(step)

    store = open_store()
    reach("before_begin")
    granted = taken(store, claim(f"{key}-1", key=key, target=key))
    reach("after_begin")
    if granted:
        reach("during_the_call")
        _note(log, key)
        reach("after_the_effect")
        ended = settlement(f"{key}-1", effect="completed", result=key)
        reach("before_the_record")
        store.settle(ended, START)
        reach("after_the_record")


# Breakers


def probe_at_once(open_store: OpenStore, *, processes: int, callers: int) -> int:
    """Open a breaker, let its time pass, and have processes ask at once; how many calls reach the backend.

    Args:
        open_store: opens the store, in each process anew.
        processes: so many.
        callers: claims in all, shared between them.
    """
    context, store = _context(), open_store()
    taken(store, claim("a", breaker=_BREAKER))
    store.settle(settlement("a", breakers=[["tool:pay", "failure"]]), START)
    with _folder() as folder:
        start = context.Barrier(processes)
        shares = [range(number, callers, processes) for number in range(processes)]
        workers = [
            context.Process(target=_probe, args=(open_store, start, share, folder / "backend")) for share in shares
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        same("how the processes ended", [worker.exitcode for worker in workers], [0] * processes)
        return len(_noted(folder / "backend"))


def _probe(open_store: OpenStore, start: Any, share: range, backend: Path) -> None:
    store = open_store()
    start.wait()
    for number in share:
        if taken(store, claim(f"p{number}", breaker=_BREAKER), START + 30):
            _note(backend, str(number))


# The checks


def killed_processes_never_take_more_than_a_budget_has(open_store: OpenStore) -> None:
    """What a process held that was killed is spent, and nothing that was answered is lost."""
    share_a_budget(open_store, processes=3, calls=60, limit=100, kills=3)


def a_process_that_dies_leaves_no_effect_that_is_begun_again(open_store: OpenStore) -> None:
    """At whichever step it dies: new only where nothing was begun, completed where that was recorded, else unknown."""
    for step, expected in EXPECTED.items():
        same(step, kill_at(open_store, step, f"of {step}"), expected)
        same(f"{step}, by an exception", kill_at(open_store, step, f"{step}, raised", "raised"), expected)


def of_twenty_callers_in_four_processes_one_is_the_probe(open_store: OpenStore) -> None:
    """The other nineteen are told to wait."""
    same("calls that reach the backend", probe_at_once(open_store, processes=4, callers=20), 1)


PROCESSES: Final[tuple[Callable[[OpenStore], None], ...]] = (
    killed_processes_never_take_more_than_a_budget_has,
    a_process_that_dies_leaves_no_effect_that_is_begun_again,
    of_twenty_callers_in_four_processes_one_is_the_probe,
)
