"""A payment that fails at any named step, by exception and by SIGKILL, is made once; what became of it is found out."""

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from callgate.stores.sqlite import SqliteStore
from payment_in_doubt import STEPS, FailingStore, never, pay, raising

# All of them with CALLGATE_ROUNDS=20.
ROUNDS = int(os.environ.get("CALLGATE_ROUNDS", "2"))
LATER = 3600.0
"""Seconds after which whoever held something has lost it."""

# What the ledger knows of a payment whose process has died, before anybody looks.
LEFT = {"before_begin": []}


@pytest.fixture
def bank(root: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(root / "examples" / "payments"))
    return import_module("payment_server").PaymentServer()


def booked(bank: Any, task: str) -> int:
    return sum(payment["reference"] == task for payment in bank.booked)


def states(store: SqliteStore, task: str, ahead: float) -> list[str]:
    import time

    return [entry.state for entry in store.entries(time.time() + ahead, task=task)]


@pytest.mark.parametrize("step", STEPS)
def test_a_payment_whose_process_is_killed_is_made_once(tmp_path: Path, bank: Any, step: str) -> None:
    path = tmp_path / "ledger.db"
    program = Path(__file__).with_name("payment_in_doubt.py")
    with bank as url:
        for at in range(ROUNDS):
            task = f"{step}-{at}"
            died = subprocess.run(
                [sys.executable, str(program), str(path), url, task, step], capture_output=True, text=True, timeout=120
            )
            assert (died.returncode, died.stderr) == (-9, "")
            store = SqliteStore(path)
            # what was begun is on record, and nobody takes it for done or for new
            assert states(store, task, LATER) == LEFT.get(step, ["unknown"])
            result = pay(store, url, task, never, ahead=LATER)
            assert result.ok, (task, result)
            assert (booked(bank, task), states(store, task, LATER)) == (1, ["completed"])
            again = pay(store, url, task, never, ahead=LATER)
            assert (again.verdict.code, again.attempts, booked(bank, task)) == ("ALREADY_CREATED", 0, 1)
            store.close()


@pytest.mark.parametrize("step", STEPS)
def test_a_payment_that_fails_with_an_exception_is_made_once(tmp_path: Path, bank: Any, step: str) -> None:
    path = tmp_path / "ledger.db"
    with bank as url:
        for at in range(ROUNDS):
            task = f"{step}-{at}"
            fail = raising(step)
            first = pay(FailingStore(path, fail), url, task, fail)
            assert booked(bank, task) <= 1, (task, first)
            store = SqliteStore(path)
            result = pay(store, url, task, never, ahead=LATER)
            assert result.ok, (task, first, result)
            assert (booked(bank, task), states(store, task, LATER)) == (1, ["completed"])
            store.close()
