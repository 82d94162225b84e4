"""The payment that timed out after it went through, and its relatives: each is made once under its pack."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from callgate import Gate
from callgate.runtime.pauses import Pauses


@pytest.fixture
def story(root: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(root / "examples" / "payments"))
    yield import_module("main")
    sys.modules.pop("main")


# first call: how it ended, how often it was sent, what was found out; the bank always has one payment
ENDS = {
    "before_effect": (True, 2, "absent"),
    "after_effect": (True, 1, "landed"),
    "half_answer": (True, 1, "landed"),
    "slow": (True, 1, "landed"),
    "unavailable": (True, 2, None),
}


@pytest.mark.parametrize("step", ENDS)
def test_whatever_fails_a_payment_is_made_once(story: Any, step: str) -> None:
    bank = story.PaymentServer(delay=2 * story.TIMEOUT)
    with bank as url:
        gate = Gate.load("payments", pauses=Pauses(random=lambda: 0.0))
        pay = story.guarded(gate, story.BankClient(url))
        bank.fail(step)
        first, second = story.pay_once(gate.task("invoices"), pay, "invoice-1")
    assert (first.ok, first.attempts, first.verified) == ENDS[step]
    assert (second.verdict.code, second.attempts) == ("ALREADY_CREATED", 0)
    assert [payment["reference"] for payment in bank.booked] == ["invoice-1"]


def test_the_bank_is_handed_the_key_and_the_model_has_no_part_in_it(story: Any) -> None:
    bank = story.PaymentServer()
    with bank as url:
        gate = Gate.load("payments")
        pay = story.guarded(gate, story.BankClient(url))
        task = gate.task("invoices")
        keys = []
        for reference in ("invoice-1", "invoice-2"):
            result = task.call(pay, reference=reference, account="DE02", amount=120.0)
            assert result.ok
            keys.append(result.verdict.idempotency_key)
        written = task.call(pay, reference="invoice-3", account="DE02", amount=1.0, idempotency_key="mine")
    assert [payment["idempotency_key"] for payment in bank.booked[:2]] == keys
    assert len(set(keys)) == 2
    assert "mine" not in [payment["idempotency_key"] for payment in bank.booked]
    assert written.refused or written.ok


def test_a_bank_that_is_down_costs_no_more_retries_than_the_task_has(story: Any) -> None:
    bank = story.PaymentServer()
    with bank as url:
        gate = Gate.load("payments", pauses=Pauses(random=lambda: 0.0))
        pay = story.guarded(gate, story.BankClient(url))
        task = gate.task("invoices")
        with bank.down():
            results = story.pay_once(task, pay, "invoice-1")
        assert not any(result.ok for result in results)
        assert task.spent["retries"] <= 6.0
    assert bank.booked == []


@pytest.mark.parametrize("step", ["after_effect", "half_answer", "slow"])
def test_without_a_guard_money_goes_twice(story: Any, step: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert story.main(["--without-guard", "--step", step]) == 0
    assert "booked 2 times" in capsys.readouterr().out


def test_one_command_runs_it(root: Path) -> None:
    program = str(root / "examples" / "payments" / "main.py")
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("booked 1 time\n") == 5
