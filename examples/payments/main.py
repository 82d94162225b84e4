"""The payment that timed out after it went through, and its relatives: under the pack `payments` each is made once.

python examples/payments/main.py                     a failure at every step, one after the other
python examples/payments/main.py --step after_effect one of them
python examples/payments/main.py --without-guard     what a loop that tries again makes of it
"""

import argparse
import json
import sys
from collections.abc import Callable
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from payment_server import STEPS, PaymentServer

from callgate import CallResult, Gate, Task

TIMEOUT = 0.5
"""Seconds that the client waits for the bank; its `slow` answers take longer."""


class BankClient:
    """The tools: two requests, and nothing that knows of failures."""

    def __init__(self, url: str) -> None:
        self.url = url

    def pay(self, reference: str, account: str, amount: float, idempotency_key: str = "") -> Any:
        """Pay an amount to an account."""
        order = {"reference": reference, "account": account, "amount": amount, "idempotency_key": idempotency_key}
        return self._ask(Request(f"{self.url}/pay", json.dumps(order).encode(), {"Content-Type": "application/json"}))

    def find_payment(self, reference: str) -> Any:
        """What became of a payment."""
        return self._ask(Request(f"{self.url}/payment?{urlencode({'reference': reference})}"))

    def _ask(self, request: Request) -> Any:
        try:
            with urlopen(request, timeout=TIMEOUT) as answer:
                return json.loads(answer.read())
        except HTTPError as error:
            error.close()  # it holds the connection
            raise


def guarded(gate: Gate, bank: BankClient) -> Callable[..., Any]:
    """The tools under the gate; the executor finds the one that looks a payment up by its name."""
    gate.tool(bank.find_payment)
    return gate.tool(bank.pay)


def pay_once(task: Task, pay: Callable[..., Any], reference: str) -> list[CallResult]:
    """What an agent does: pay, and to be sure pay again."""
    return [task.call(pay, reference=reference, account="DE02", amount=120.0) for _ in range(2)]


def told(result: CallResult) -> str:
    """A line about what came of a call."""
    if result.ok:
        how = "remembered" if result.from_cache else "answered"
        if result.verified == "landed":
            how = "looked up"
        return f"{how}, {result.attempts} sent"
    return f"{result.verdict.action}, {result.attempts} sent: {result.error}"


def with_guard(steps: list[str]) -> int:
    """Let each step fail once; 0 if every payment was made once."""
    bank = PaymentServer(delay=2 * TIMEOUT)
    with bank as url:
        gate = Gate.load("payments")
        pay = guarded(gate, BankClient(url))
        for step in steps:
            bank.fail(step)
            # each invoice is a job of its own, with a budget of its own
            first, second = pay_once(gate.task(f"invoice-{step}"), pay, f"invoice-{step}")
            times = sum(payment["reference"] == f"invoice-{step}" for payment in bank.booked)
            print(
                f"{step:<14} first: {told(first):<22} again: {told(second):<22} booked {times} time{'s'[: times != 1]}"
            )
    return 0 if sorted(payment["reference"] for payment in bank.booked) == sorted(f"invoice-{s}" for s in steps) else 1


def without_guard(steps: list[str]) -> int:
    """The usual loop: whatever fails is tried again."""
    bank = PaymentServer(delay=2 * TIMEOUT)
    with bank as url:
        client = BankClient(url)
        for step in steps:
            bank.fail(step)
            for _ in range(3):
                try:
                    client.pay(f"invoice-{step}", "DE02", 120.0)
                    break
                except (URLError, OSError, ValueError):
                    continue
                except Exception as error:
                    print(f"{type(error).__name__}, and once more")
            times = sum(payment["reference"] == f"invoice-{step}" for payment in bank.booked)
            print(f"{step:<14} booked {times} time{'s'[: times != 1]}")
    return 0


def main(argv: list[str]) -> int:
    """Run the story."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--step", choices=STEPS, help="let only this step fail")
    parser.add_argument("--without-guard", action="store_true", help="try again whatever fails")
    arguments = parser.parse_args(argv)
    steps = list(STEPS) if arguments.step is None else [arguments.step]
    return without_guard(steps) if arguments.without_guard else with_guard(steps)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
