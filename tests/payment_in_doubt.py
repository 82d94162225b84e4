"""A payment that fails at a named step, by exception or by the death of its process; run as a program it dies.

    python payment_in_doubt.py STORE URL TASK STEP      the process kills itself at STEP

The steps: `before_begin` (nothing was claimed), `after_begin` (claimed, not sent), `during_call` (sent, no answer yet),
`after_effect` (the bank has booked, its answer is on the way), `after_answer` (the tool has it), `before_record` (the
guard has not written it down).
"""

import http.client
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from callgate import CallResult, Gate
from callgate.runtime.clock import SystemClock
from callgate.stores.errors import StoreError
from callgate.stores.sqlite import SqliteStore

STEPS = ("before_begin", "after_begin", "during_call", "after_effect", "after_answer", "before_record")

Fail = Callable[[str], None]
"""Told of each step that is reached; raises or kills at the one that is to fail."""


class Later(SystemClock):
    """The machine's clocks, so many seconds ahead: whoever died has lost its lease by then."""

    def __init__(self, ahead: float) -> None:
        self.ahead = ahead

    def wall(self) -> float:
        return super().wall() + self.ahead


class FailingStore(SqliteStore):
    """A store in a file that tells of each step."""

    def __init__(self, path: Path, fail: Fail) -> None:
        super().__init__(path)
        self.fail = fail

    def commit(self, claim: str, now: float) -> str:
        paying = '"tool":"pay"' in claim
        if paying:
            self.fail("before_begin")
        grant = super().commit(claim, now)
        if paying:
            self.fail("after_begin")
        return grant

    def settle(self, settlement: str, now: float) -> bool:
        self.fail("before_record")
        return super().settle(settlement, now)


class Bank:
    """The tools, which tell of each step."""

    def __init__(self, url: str, fail: Fail) -> None:
        self.place = url.removeprefix("http://")
        self.fail = fail

    def pay(self, reference: str, account: str, amount: float, idempotency_key: str = "") -> Any:
        connection = http.client.HTTPConnection(self.place, timeout=30)
        try:
            order = {"reference": reference, "account": account, "amount": amount, "idempotency_key": idempotency_key}
            connection.request("POST", "/pay", json.dumps(order), {"Content-Type": "application/json"})
            self.fail("during_call")
            answer = connection.getresponse()  # its first line comes once the payment is booked
            self.fail("after_effect")
            told = json.loads(answer.read())
            self.fail("after_answer")
            return told
        finally:
            connection.close()

    def find_payment(self, reference: str) -> Any:
        connection = http.client.HTTPConnection(self.place, timeout=30)
        try:
            connection.request("GET", f"/payment?reference={reference}")
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()


def pay(store: SqliteStore, url: str, task: str, fail: Fail, *, ahead: float = 0.0) -> CallResult:
    """One payment under the pack `payments`, in a task of this name."""
    gate = Gate.load("payments", store=store, clock=Later(ahead))
    bank = Bank(url, fail)
    gate.tool(bank.find_payment)
    return gate.task(task).call(gate.tool(bank.pay), reference=task, account="DE02", amount=120.0)


def never(step: str) -> None:
    """No step fails."""


def dying(at: str) -> Fail:
    """The process dies at a step, as if it was switched off."""

    def fail(step: str) -> None:
        if step == at:
            os.kill(os.getpid(), signal.SIGKILL)

    return fail


def raising(at: str) -> Fail:
    """A step fails once with what fails there: the store, or something in the tool that nobody knows."""
    left = [at]

    def fail(step: str) -> None:
        if step in left:
            left.remove(step)
            raise (
                StoreError("the disk is full")
                if step in ("before_begin", "after_begin", "before_record")
                else RuntimeError(step)
            )

    return fail


if __name__ == "__main__":
    _, path, url, task, step = sys.argv
    pay(FailingStore(Path(path), dying(step)), url, task, dying(step))
