"""Three layers that try again three times each: 64 requests without a common budget, with one no more than it has."""

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from callgate import Gate
from executor_gates import gate, noted

TOOLS = (
    "    http_post: {effect: read, retry: {max: 3}}\n"
    "    quote: {effect: read, retry: {max: 3}}\n"
)  # the request is a read for this test's purpose: it may be made again
RETRIES = 6


@pytest.fixture
def bank(root: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(root / "examples" / "payments"))
    server = import_module("payment_server").PaymentServer()
    server.fail("unavailable", 1000)
    return server


def post(url: str) -> Any:
    try:
        with urlopen(Request(url, b"{}", {"Content-Type": "application/json"}), timeout=30) as answer:
            return json.loads(answer.read())
    except HTTPError as error:
        error.close()  # it holds the connection
        raise


def four_times(function: Callable[[], Any]) -> Any:
    """A layer that tries again three times, and knows of no other."""
    for _ in range(3):
        try:
            return function()
        except HTTPError:
            continue
    return function()


def test_layers_that_do_not_know_of_each_other_multiply(bank: Any) -> None:
    with bank as url, pytest.raises(HTTPError):
        four_times(lambda: four_times(lambda: four_times(lambda: post(f"{url}/pay"))))
    assert bank.requests == 64


@pytest.mark.parametrize("budget", [0, 1, 3, RETRIES, 10])
def test_layers_on_one_budget_make_no_more_requests_than_it_has(tmp_path: Path, bank: Any, budget: int) -> None:
    policy = f"  budgets: {{retries: {budget}}}\n"
    loaded = gate(tmp_path, TOOLS, policy, pauses=noted([]))
    _, quote = layers(loaded)
    with bank as url:
        task = loaded.task("t")
        for _ in range(4):  # the agent's own layer
            result = task.call(quote, url=f"{url}/pay")
            assert not result.ok
    assert 1 <= bank.requests <= 1 + budget
    assert task.spent["retries"] <= budget


def test_the_innermost_layer_has_the_budget_first(tmp_path: Path, bank: Any) -> None:
    """By hand: four requests of the first try (three retries); then `quote` is tried again (the fourth), and its
    request is one (the fifth), which `max` lets nobody repeat; `quote` again (the sixth), its request is refused."""
    loaded = gate(tmp_path, TOOLS, f"  budgets: {{retries: {RETRIES}}}\n", pauses=noted([]))
    _, quote = layers(loaded)
    with bank as url:
        result = loaded.task("t").call(quote, url=f"{url}/pay")
    assert (bank.requests, result.attempts) == (5, 3)


def layers(loaded: Gate) -> tuple[Any, Any]:
    """A tool that calls another one, both tried again by the executor."""

    @loaded.tool
    def http_post(url: str) -> Any:
        return post(url)

    @loaded.tool
    def quote(url: str) -> Any:
        return http_post(url)

    return http_post, quote


def test_children_draw_on_the_same_budget(tmp_path: Path, bank: Any) -> None:
    loaded = gate(tmp_path, TOOLS, f"  budgets: {{retries: {RETRIES}}}\n", pauses=noted([]))
    http_post, _ = layers(loaded)
    with bank as url:
        task = loaded.task("t")
        for name in ("a", "b", "c"):
            task.child(name).call(http_post, url=f"{url}/pay?by={name}")
    # each has a first request of its own, and three retries; the third finds none left
    assert bank.requests == 3 + RETRIES


def test_the_same_call_of_another_child_is_a_further_attempt(tmp_path: Path, bank: Any) -> None:
    loaded = gate(tmp_path, TOOLS, f"  budgets: {{retries: {RETRIES}}}\n", pauses=noted([]))
    http_post, _ = layers(loaded)
    with bank as url:
        task = loaded.task("t")
        for name in ("a", "b", "c"):
            task.child(name).call(http_post, url=f"{url}/pay")
    # a first request and three retries by one; each of the others makes one further attempt, which is not tried again
    assert bank.requests == (1 + 3) + 1 + 1
    assert task.spent["retries"] == 3 + 1 + 1
