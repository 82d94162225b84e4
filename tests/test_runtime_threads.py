"""Tasks shared between threads: budgets are never overspent, and no lock is waited for with the GIL in hand."""

from __future__ import annotations

import threading
from collections import UserDict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from callgate import Gate, Task

THREADS = 8
POLICY = """\
apiVersion: callgate/v1
kind: GuardPolicy
metadata: {name: p}
spec:
  undeclared_tools: allow
  budgets: {steps: 100000, tool_calls: LIMIT, tokens: {limit: unlimited, reason: none are counted}}
  time: {task: 24h}
"""


def gate(folder: Path, limit: int) -> Gate:
    (folder / "policy.yaml").write_text(POLICY.replace("LIMIT", str(limit)))
    return Gate.load(folder)


def in_threads(work: Any) -> None:
    """Run `work(n)` in eight threads that begin together; what one raises is raised."""
    barrier = threading.Barrier(THREADS)
    raised: list[BaseException] = []

    def begin(n: int) -> None:
        try:
            barrier.wait()
            work(n)
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=begin, args=(n,), daemon=True) for n in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads), "threads wait for each other"
    if raised:
        raise raised[0]


@pytest.mark.parametrize("limit", [0, 1, 7, 100])
@pytest.mark.parametrize("observed", [True, False], ids=["observed", "left open"])
def test_eight_threads_on_one_task_spend_exactly_the_budget(tmp_path: Path, limit: int, observed: bool) -> None:
    shared = gate(tmp_path, limit)
    for attempt in range(5):
        task = shared.task(f"t{attempt}")
        allowed: list[str] = []

        def work(n: int, task: Task = task, allowed: list[str] = allowed) -> None:
            for at in range(limit // 4 + 2):  # eight times this is more than the limit
                verdict = task.admit("t", {"n": n, "at": at}, call_id=f"{n}-{at}")
                if verdict.allowed:
                    allowed.append(verdict.call_id)
                    if observed:
                        task.observe(verdict.call_id, result=at)

        in_threads(work)
        assert (len(allowed), len(set(allowed)), task.spent["tool_calls"]) == (limit, limit, limit)


def test_batches_and_calls_given_back_keep_the_count_exact(tmp_path: Path) -> None:
    task = gate(tmp_path, 50).task("t")
    kept: list[str] = []

    def work(n: int) -> None:
        for at in range(10):
            calls = [{"tool": "t", "arguments": {"n": n, "at": at, "of": of}} for of in range(3)]
            for place, verdict in enumerate(task.admit_all(calls)):
                if verdict.allowed and place == 0:
                    task.abandon(verdict.call_id)
                elif verdict.allowed:
                    kept.append(verdict.call_id)
                    task.observe(verdict.call_id, result=1)

    in_threads(work)
    assert task.spent["tool_calls"] == len(kept) <= 50


class Slow(UserDict[str, Any]):
    """Arguments whose conversion runs Python code, in the middle of which other threads get their turn."""

    def __init__(self, arrived: threading.Event, go: threading.Event) -> None:
        super().__init__({"a": 1})
        self.arrived, self.go = arrived, go

    def _wait(self) -> None:
        self.arrived.set()
        assert self.go.wait(30), "the other thread never got its turn"

    def __iter__(self) -> Iterator[str]:
        self._wait()
        return super().__iter__()

    def items(self) -> Any:
        self._wait()
        return super().items()

    def keys(self) -> Any:
        self._wait()
        return super().keys()


class Result:
    """A pydantic-like result whose fields are asked for in Python."""

    def __init__(self, arrived: threading.Event, go: threading.Event) -> None:
        self.arrived, self.go = arrived, go

    def model_dump(self, **_: Any) -> Mapping[str, Any]:
        self.arrived.set()
        assert self.go.wait(30), "the other thread never got its turn"
        return {"a": 1}


def test_a_call_that_is_being_converted_holds_up_no_other(tmp_path: Path) -> None:
    """While one thread stands in the conversion of its arguments or result, another one uses the same task."""
    task = gate(tmp_path, 50).task("t")
    assert task.admit("first", {}, call_id="r").allowed
    for begin in (
        lambda arrived, go: task.admit("t", Slow(arrived, go)),
        lambda arrived, go: task.observe("r", result=Result(arrived, go)),
    ):
        arrived, go = threading.Event(), threading.Event()
        slow = threading.Thread(target=begin, args=(arrived, go), daemon=True)
        slow.start()
        # an object that is refused or read without running its code never arrives, and holds up nothing either
        while slow.is_alive() and not arrived.wait(0.01):
            pass
        done = threading.Event()

        def other(done: threading.Event = done) -> None:
            task.admit("other", {})
            assert task.spent["tool_calls"] > 0
            task.snapshot()
            done.set()

        quick = threading.Thread(target=other, daemon=True)
        quick.start()
        assert done.wait(30), "the task is locked while arguments are converted"
        go.set()
        slow.join(30)
        assert not slow.is_alive()
