"""A gate and its store: what the settings name, and one store under many threads, asyncio tasks and processes."""

import asyncio
import itertools
import multiprocessing
import threading
from pathlib import Path
from typing import Any

import pytest

from callgate import Gate, Task
from callgate.stores import MemoryStore, SqliteStore, StoreError
from callgate.stores.escalations import Escalations

POLICY = """
apiVersion: callgate/v1
kind: GuardPolicy
metadata: {name: shop}
spec:
  extends: [default]
  tools: [shop-tools]
  budgets: {tool_calls: 40}
  rules: [{id: no, tools: [give_up], when: 'true', action: stop}]
---
apiVersion: callgate/v1
kind: ToolManifest
metadata: {name: shop-tools}
spec:
  tools:
    look: {effect: read}
    give_up: {effect: read}
    pay:
      effect: external
      parameters: {type: object, required: [order], properties: {order: {type: string}}}
      identity: {target: [order]}
      idempotency: {key: '["pay", args.order]'}
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "shop.yaml").write_text(POLICY, encoding="utf-8")
    return tmp_path


NUMBERS = itertools.count()


def used(task: Task) -> bool:
    """Look at something new, where the budget allows it."""
    verdict = task.admit("look", {"n": next(NUMBERS)})
    if verdict.allowed:
        task.observe(verdict.call_id, result={"n": verdict.call_id})
    return verdict.allowed


def test_the_store_of_the_project_is_used_where_none_is_named(shop: Path) -> None:
    (shop / "callgate.yaml").write_text("store: shop.db\n", encoding="utf-8")
    first, second = (Gate.load(shop).task("order-4711") for _ in range(2))
    assert [used(task) for task in (first, second)] == [True, True]
    assert SqliteStore(shop / "shop.db").counters("order-4711")["tool_calls"] == 2.0


def test_a_store_that_is_named_goes_before_the_projects(shop: Path) -> None:
    (shop / "callgate.yaml").write_text("store: shop.db\n", encoding="utf-8")
    store = MemoryStore()
    assert used(Gate.load(shop, store=store).task("t"))
    assert store.counters("t")["tool_calls"] == 1.0
    assert not (shop / "shop.db").exists()


def test_what_is_no_store_is_told(shop: Path) -> None:
    with pytest.raises(TypeError, match=r"^`store` must be a store or the path of its file, not int$"):
        Gate.load(shop, store=3)  # type: ignore[arg-type]


def test_a_store_of_the_project_that_cannot_be_used_is_told_at_loading(shop: Path) -> None:
    (shop / "callgate.yaml").write_text("store: nowhere/shop.db\n", encoding="utf-8")
    with pytest.raises(StoreError, match="it cannot be opened"):
        Gate.load(shop)


def test_what_goes_to_a_person_is_queued_in_the_store_unless_another_file_is_named(shop: Path) -> None:
    gates = [
        Gate.load(shop, store=shop / "shop.db"),
        Gate.load(shop, store=shop / "shop.db", escalations=shop / "desk.db"),
    ]
    for number, gate in enumerate(gates):
        gate.task(f"t{number}").admit("give_up", {})
    queued = [[each.task for each in Escalations(shop / name).list()] for name in ("shop.db", "desk.db")]
    assert queued == [["t0"], ["t1"]]


def test_threads_of_several_gates_never_have_more_than_the_budget_of_their_task(shop: Path) -> None:
    store = SqliteStore(shop / "shop.db", wait=60.0)
    tasks = [Gate.load(shop, store=it).task("t") for it in (store, store, SqliteStore(shop / "shop.db", wait=60.0))]
    granted: list[bool] = []
    start = threading.Barrier(6)

    def work(task: Task) -> None:
        start.wait()
        granted.extend(used(task) for _ in range(10))

    threads = [threading.Thread(target=work, args=(tasks[n % 3],)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(granted), sum(granted)) == (60, 40)


def test_of_threads_and_asyncio_tasks_that_pay_one_order_one_pays(shop: Path) -> None:
    store = SqliteStore(shop / "shop.db", wait=60.0)
    gates = [Gate.load(shop, store=store), Gate.load(shop, store=store)]
    paid: list[str] = []

    def pay(number: int) -> str:
        task = gates[number % 2].task(f"t{number}")
        verdict = task.admit("pay", {"order": "4711"})
        if verdict.allowed:
            paid.append(verdict.call_id)
            task.observe(verdict.call_id, result={"receipt": 7})
        return verdict.action

    async def all_of_them() -> list[str]:
        return await asyncio.gather(*(asyncio.to_thread(pay, number) for number in range(20)))

    actions = asyncio.run(all_of_them())
    assert len(paid) == 1
    assert actions.count("allow") == 1
    assert set(actions) <= {"allow", "refuse", "reuse"}
    again = gates[0].task("later").admit("pay", {"order": "4711"})
    assert (again.action, again.code) == ("reuse", "ALREADY_CREATED")


def spend(shop: str, start: Any, found: Any) -> None:
    task = Gate.load(shop, store=SqliteStore(Path(shop) / "shop.db", wait=60.0)).task("t")
    start.wait()
    found.put(sum(used(task) for _ in range(20)))


def test_processes_never_have_more_than_the_budget_of_their_task(shop: Path) -> None:
    context = multiprocessing.get_context("spawn")
    start, found = context.Barrier(3), context.Queue()
    workers = [context.Process(target=spend, args=(str(shop), start, found)) for _ in range(3)]
    for worker in workers:
        worker.start()
    granted = sum(found.get(timeout=300) for _ in workers)
    for worker in workers:
        worker.join(timeout=300)
    assert granted == 40
