"""A call that is given up goes on in its thread: what it brings after all ends the doubt about its effect."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from callgate import Call, Gate, Task
from callgate.stores import MemoryStore, SqliteStore, Store
from callgate.stores.entry import Entry
from callgate.testing.clock import FakeClock
from executor_gates import gate, noted

PAY = (
    "    pay:\n      effect: external\n      timeout: 50ms\n"
    "      idempotency: {key: '[\"pay\", args.ref]'}\n"
    "      verify: {tool: look, arguments: {ref: args.ref}, landed_when: result.found, absent_when: '!result.found'}\n"
    "    look: {effect: read}\n    note: {effect: write, timeout: 50ms}\n"
)


class Held:
    """A tool that goes on when it is let go, and then does what it is told to."""

    def __init__(self, name: str, then: Callable[[], Any]) -> None:
        self.__name__ = name
        self.go = threading.Event()
        self.asked = 0
        self.ended = threading.Event()
        self._then = then

    def __call__(self, **arguments: Any) -> Any:
        self.asked += 1
        assert self.go.wait(30)
        self.ended.set()
        return self._then()


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "callgate.db")


@pytest.fixture
def loaded(tmp_path: Path, store: Store) -> Gate:
    return gate(tmp_path, PAY, store=store, pauses=noted([]))


@pytest.fixture
def paying() -> Iterator[Held]:
    tool = Held("pay", lambda: {"id": 7})
    yield tool
    tool.go.set()


def refused() -> Any:
    raise ConnectionRefusedError(111, "nobody listens")


def until(holds: Callable[[], bool]) -> None:
    """Wait for what another thread does."""
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.002)


def entries(store: Store) -> list[Entry]:
    return store.entries(time.time())


def states(store: Store) -> list[str]:
    return [entry.state for entry in entries(store)]


def call(task: Task, tool: Held) -> Any:
    return task.call(Call(tool, {"ref": "r1"}))


def acall(task: Task, tool: Held) -> Any:
    return asyncio.run(task.acall(Call(tool, {"ref": "r1"})))


@pytest.mark.parametrize("make", [call, acall])
def test_a_payment_that_goes_through_late_is_answered_with_its_result_and_not_looked_up(
    loaded: Gate, store: Store, paying: Held, make: Callable[[Task, Held], Any]
) -> None:
    task = loaded.task("t")
    assert make(task, paying).assessment.next == "verify"
    assert states(store) == ["unknown"]
    paying.go.set()
    until(lambda: states(store) == ["completed"])
    again = make(task, paying)
    assert (again.verdict.action, again.verdict.code, again.value()) == ("reuse", "ALREADY_CREATED", {"id": 7})
    assert (paying.asked, [seen["tool"] for seen in task.report()["calls"]]) == (1, ["pay", "pay"])


def test_it_may_end_while_it_is_being_given_up(loaded: Gate, store: Store, paying: Held) -> None:
    """Whoever comes last tells: here the tool is back before the task knows that it was given up."""
    task = loaded.task("t")
    follow = task._follow

    def slowly(call_id: str, name: str) -> None:
        paying.go.set()
        assert paying.ended.wait(30)
        follow(call_id, name)

    task._follow = slowly  # type: ignore[method-assign]
    call(task, paying)
    until(lambda: states(store) == ["completed"])


def test_without_a_store_the_tasks_of_the_gate_know_of_it(tmp_path: Path, paying: Held) -> None:
    loaded = gate(tmp_path, PAY, pauses=noted([]))
    call(loaded.task("t"), paying)
    paying.go.set()
    until(lambda: loaded.task("u").admit("pay", {"ref": "r1"}).action != "ask")
    assert loaded.task("v").admit("pay", {"ref": "r1"}).result == {"id": 7}


def test_what_surely_did_not_happen_may_be_done(loaded: Gate, store: Store) -> None:
    tool = Held("pay", refused)
    task = loaded.task("t")
    call(task, tool)
    assert states(store) == ["unknown"]
    tool.go.set()
    until(lambda: states(store) == [])
    done = task.call(Call(lambda ref: {"id": 8}, {"ref": "r1"}, tool="pay"))
    assert (done.value(), done.attempts) == ({"id": 8}, 1)


class Cancelled(BaseException):
    """As trio and gevent interrupt: no class of Python's own."""


@pytest.mark.parametrize(
    "error",
    [
        TimeoutError("still nothing"),
        ConnectionResetError(104, "gone"),
        KeyboardInterrupt(),
        SystemExit(1),
        Cancelled("stopped after the booking"),
    ],
)
def test_a_failure_that_says_nothing_leaves_the_doubt(loaded: Gate, store: Store, error: BaseException) -> None:
    def fail() -> Any:
        raise error

    tool = Held("pay", fail)
    told = threading.Event()
    task = loaded.task("t")
    came_late = task._came_late

    def tell(*given: Any) -> None:
        came_late(*given)
        told.set()

    task._came_late = tell  # type: ignore[method-assign]
    call(task, tool)
    tool.go.set()
    assert told.wait(30)
    assert states(store) == ["unknown"]


@pytest.mark.parametrize("limit", [None, "10s"])
@pytest.mark.parametrize("wait", [call, acall])
def test_an_interruption_of_any_class_leaves_the_effect_in_doubt(
    tmp_path: Path, store: Store, limit: str | None, wait: Callable[[Task, Any], Any]
) -> None:
    def pay(ref: str) -> None:
        raise Cancelled("stopped after the booking")

    timeout = "" if limit is None else f", timeout: {limit}"
    task = gate(tmp_path, f"    pay: {{effect: external{timeout}}}\n", store=store).task("t")
    with pytest.raises(Cancelled):
        wait(task, pay)
    assert task.admit("pay", {"ref": "r1"}).reasons == ("ambiguous_effect",)
    assert states(store) == ["unknown"]


@pytest.mark.parametrize("then", [lambda: {"id": 7}, refused])
def test_what_comes_late_is_stamped_with_the_moment_in_which_it_came(
    tmp_path: Path, store: Store, then: Callable[[], Any]
) -> None:
    clock = FakeClock(wall=1_000.0)
    loaded = gate(tmp_path, PAY, store=store, pauses=noted([]), clock=clock)
    tool = Held("pay", then)
    task = loaded.task("t")
    call(task, tool)
    [doubt] = store.entries(clock.wall())
    # a person says otherwise, so that a failure leaves something to be stamped too
    task.resolve(doubt.key, landed=then is refused, by="ada")
    clock.advance(4.0)
    tool.go.set()
    until(lambda: any(entry.late is not None for entry in store.entries(clock.wall())))
    [entry] = store.entries(clock.wall())
    assert (doubt.ended, entry.late and entry.late.at) == (1_000.0, 1_004.0)


def test_a_result_that_came_late_is_kept_as_long_as_any_from_then_on(tmp_path: Path) -> None:
    clock = FakeClock()
    tools = PAY.replace("args.ref]'}", "args.ref]', retain: 1m}")
    loaded = gate(tmp_path, tools, pauses=noted([]), clock=clock)
    tool = Held("pay", lambda: {"id": 7})
    call(loaded.task("t"), tool)
    clock.advance(50.0)
    tool.go.set()
    until(lambda: loaded.task("u").admit("pay", {"ref": "r1"}).action == "reuse")
    clock.advance(50.0)
    assert loaded.task("v").admit("pay", {"ref": "r1"}).result == {"id": 7}


def test_a_write_without_a_key_stands_in_nobodys_way_any_more(loaded: Gate, store: Store) -> None:
    tool = Held("note", lambda: "saved")
    task = loaded.task("t")
    call(task, tool)
    assert task.admit("note", {"ref": "r2"}).reasons == ("ambiguous_effect",)
    tool.go.set()
    until(lambda: states(store) == [])
    assert task.admit("note", {"ref": "r3"}).allowed


def test_what_a_person_found_out_meanwhile_stands_and_the_late_word_against_it_is_on_record(
    loaded: Gate, store: Store
) -> None:
    tool = Held("pay", refused)
    task = loaded.task("t")
    call(task, tool)
    [doubt] = entries(store)
    task.resolve(doubt.key, landed=True, by="ada")
    tool.go.set()
    until(lambda: entries(store)[0].late is not None)
    [entry] = entries(store)
    assert (entry.state, entry.by, entry.late and entry.late.landed) == ("completed", "ada", False)


def test_what_was_called_absent_and_goes_through_is_never_done_again(loaded: Gate, store: Store, paying: Held) -> None:
    task = loaded.task("t")
    call(task, paying)
    [doubt] = entries(store)
    task.resolve(doubt.key, landed=False, by="ada")
    assert states(store) == []
    paying.go.set()
    until(lambda: states(store) == ["completed"])
    [entry] = entries(store)
    assert (entry.result, entry.late and entry.late.landed) == ({"id": 7}, True)
    assert task.admit("pay", {"ref": "r1"}).code == "ALREADY_CREATED"


def test_an_interruption_gives_up_what_runs_and_hears_it_all_the_same(loaded: Gate, store: Store, paying: Held) -> None:
    async def cancelled() -> None:
        way = asyncio.ensure_future(loaded.task("t").acall(Call(paying, {"ref": "r1"})))
        while not paying.asked:
            await asyncio.sleep(0.001)
        way.cancel()
        with pytest.raises(asyncio.CancelledError):
            await way

    asyncio.run(cancelled())
    until(lambda: states(store) == ["unknown"])
    paying.go.set()
    until(lambda: states(store) == ["completed"])


def test_a_late_result_of_a_read_changes_nothing(tmp_path: Path) -> None:
    loaded = gate(tmp_path, "    look: {effect: read, timeout: 50ms}\n", pauses=noted([]))
    tool = Held("look", lambda: "seen")
    task = loaded.task("t")
    told = threading.Event()
    came_late = task._came_late

    def tell(*given: Any) -> None:
        came_late(*given)
        told.set()

    task._came_late = tell  # type: ignore[method-assign]
    call(task, tool)
    before = task.report()
    tool.go.set()
    assert told.wait(30)
    assert task.report() == before
