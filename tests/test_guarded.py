"""`gate.tool`: a guarded function is called as before, and works for the task that is active."""

import asyncio
import inspect
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callgate import Call, Gate, NoTaskError, Refused, Task
from executor_gates import gate


@pytest.fixture
def loaded(tmp_path: Path) -> Gate:
    return gate(tmp_path, "    look: {effect: read}\n    list: {effect: read}\n")


def test_it_is_called_as_the_function_and_gives_what_it_gives(loaded: Gate) -> None:
    @loaded.tool
    def look(q: str, limit: int = 10, **more: Any) -> list[Any]:
        """Look for something."""
        return [q, limit, more]

    task = loaded.task("t")
    with task.active():
        assert look("a") == ["a", 10, {}]
        assert look("b", 5) == ["b", 5, {}]
        assert look(q="c", limit=7, deep=True) == ["c", 7, {"deep": True}]
    assert [call["arguments"] for call in task.report()["calls"]] == [
        {"q": "a"},
        {"q": "b", "limit": 5},
        {"q": "c", "limit": 7, "deep": True},
    ]
    assert (look.__name__, look.__doc__, str(inspect.signature(look))[:8]) == (
        "look",
        "Look for something.",
        "(q: str,",
    )


def test_it_raises_what_the_function_raises(loaded: Gate) -> None:
    @loaded.tool
    def look() -> None:
        raise LookupError("no such part")

    with loaded.task("t").active(), pytest.raises(LookupError, match="no such part"):
        look()


def test_it_raises_where_the_policy_does_not_let_it_run(tmp_path: Path) -> None:
    strict = gate(tmp_path, "    look: {effect: read}\n", "  budgets: {tool_calls: 0}\n")
    ran: list[int] = []

    @strict.tool
    def look() -> None:
        ran.append(1)

    with strict.task("t").active(), pytest.raises(Refused) as caught:
        look()
    assert (caught.value.verdict.reasons, ran) == (("budget_tool_calls",), [])


def test_without_an_active_task_it_says_what_to_do(loaded: Gate) -> None:
    @loaded.tool
    def look() -> None:
        """Never run."""

    message = r"the tool `look` is guarded, and no task of its gate is active: call it inside `with task.active\(\):`"
    with pytest.raises(NoTaskError, match=message):
        look()


def test_the_task_of_another_gate_is_none_of_its_own(loaded: Gate) -> None:
    @loaded.tool
    def look() -> str:
        return "seen"

    own = loaded.task("own")
    with Gate.load("default").task("other").active():
        with pytest.raises(NoTaskError):
            look()
        with own.active(), Gate.load("default").task("inner").active():
            assert look() == "seen"
    assert own.spent["tool_calls"] == 1.0


def test_a_task_can_be_passed_instead(loaded: Gate) -> None:
    @loaded.tool(name="list")
    def look(q: str) -> str:
        return q

    task = loaded.task("t")
    result = task.call(look, q="a")
    assert (result.value(), result.tool, result.attempts) == ("a", "list", 1)


def test_a_coroutine_function_stays_one(loaded: Gate) -> None:
    @loaded.tool
    async def look(q: str) -> str:
        await asyncio.sleep(0)
        return q

    task = loaded.task("t")

    async def turn() -> list[str]:
        with task.active():
            return [await look("a"), (await task.acall(look, q="b")).value()]

    assert inspect.iscoroutinefunction(look)
    assert asyncio.run(turn()) == ["a", "b"]


def test_each_coroutine_has_its_own_active_task(loaded: Gate) -> None:
    @loaded.tool
    async def look() -> None:
        await asyncio.sleep(0)

    async def work(task: Any) -> None:
        with task.active():
            for _ in range(3):
                await look()

    tasks = [loaded.task(name) for name in ("a", "b")]

    async def both() -> None:
        await asyncio.gather(*(work(task) for task in tasks))

    asyncio.run(both())
    assert [task.spent["tool_calls"] for task in tasks] == [3.0, 3.0]


def test_another_thread_has_none(loaded: Gate) -> None:
    @loaded.tool
    def look() -> None:
        """Never run."""

    raised: list[BaseException] = []

    def call() -> None:
        try:
            look()
        except NoTaskError as error:
            raised.append(error)

    with loaded.task("t").active():
        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
    assert len(raised) == 1


def test_a_guarded_function_inside_a_call_works_for_the_same_task(loaded: Gate) -> None:
    @loaded.tool
    def look(q: str) -> str:
        return q.upper()

    @loaded.tool
    def list() -> str:  # noqa: A001 - the tool's name
        return look("a")

    task = loaded.task("t")
    with task.active():
        assert list() == "A"
    assert sorted(call["tool"] for call in task.report()["calls"]) == ["list", "look"]


def test_a_function_that_takes_values_without_names_cannot_be_guarded(loaded: Gate) -> None:
    def placed(q: str, /) -> None:
        """Never run."""

    def many(*words: str) -> None:
        """Never run."""

    with pytest.raises(TypeError, match="the tool `placed` cannot be guarded: `q` can only be given by its place"):
        loaded.tool(placed)
    with pytest.raises(TypeError, match="the tool `many` cannot be guarded: `words` takes values without names"):
        loaded.tool(many)


def test_a_wrong_argument_is_an_error_of_the_caller(loaded: Gate) -> None:
    @loaded.tool
    def look(q: str) -> str:
        return q

    task = loaded.task("t")
    with task.active(), pytest.raises(TypeError, match="unexpected keyword argument 'w'"):
        look(w="a")  # type: ignore[call-arg]
    assert task.spent["tool_calls"] == 0.0


def test_a_childs_calls_are_its_own(loaded: Gate) -> None:
    @loaded.tool
    def look(q: str) -> str:
        return q

    task = loaded.task("t")
    worker = task.child("worker")
    with worker.active():
        look("a")
    assert task.report()["calls"][0]["agent"] == 1  # the second agent of the task


def made_by_call(task: Task, tool: Any) -> Any:
    return task.call(Call(tool, {"ref": "r1"}))


def made_by_call_all(task: Task, tool: Any) -> Any:
    return task.call_all([Call(tool, {"ref": "r1"}), Call(tool, {"ref": "r2"})])[0]


def made_by_acall(task: Task, tool: Any) -> Any:
    return asyncio.run(task.acall(Call(tool, {"ref": "r1"})))


def made_by_acall_all(task: Task, tool: Any) -> Any:
    return asyncio.run(task.acall_all([Call(tool, {"ref": "r1"}), Call(tool, {"ref": "r2"})]))[0]


Made = Callable[[Task, Any], Any]
SYNC: list[Made] = [made_by_call, made_by_call_all]
ASYNC: list[Made] = [made_by_acall, made_by_acall_all]
PAY = "    pay: {effect: external, idempotency: {key: '[\"pay\", args.ref]'}}\n"
ASKED = '  rules: [{id: all, phase: admit, when: "true", action: ask}]\n'


@pytest.mark.parametrize("made", SYNC + ASYNC)
def test_a_call_of_a_guarded_function_is_judged_once(tmp_path: Path, made: Made) -> None:
    loaded = gate(tmp_path, PAY)

    @loaded.tool
    def pay(ref: str) -> str:
        return ref

    task = loaded.task("t")
    result = made(task, pay)
    assert (result.value(), result.attempts) == ("r1", 1)
    # the second one of two is of another payment
    assert task.spent["tool_calls"] == (2.0 if made.__name__.endswith("_all") else 1.0)


@pytest.mark.parametrize("made", ASYNC)
def test_a_call_of_a_guarded_coroutine_function_is_judged_once(tmp_path: Path, made: Made) -> None:
    loaded = gate(tmp_path, PAY)

    @loaded.tool
    async def pay(ref: str) -> str:
        return ref

    assert made(loaded.task("t"), pay).value() == "r1"


@pytest.mark.parametrize("made", SYNC + ASYNC)
def test_what_a_call_leaves_open_is_as_the_function_was_guarded(tmp_path: Path, made: Made) -> None:
    loaded = gate(tmp_path, PAY, ASKED)
    threads: list[threading.Thread] = []

    @loaded.tool(name="pay", approve=lambda verdict: True, threaded=False)
    def send(ref: str) -> str:
        threads.append(threading.current_thread())
        return ref

    result = made(loaded.task("t"), send)
    assert (result.tool, result.value(), set(threads)) == ("pay", "r1", {threading.current_thread()})


def test_a_call_has_the_last_word_on_who_is_asked(tmp_path: Path) -> None:
    loaded = gate(tmp_path, PAY, ASKED)

    @loaded.tool(approve=lambda verdict: True)
    def pay(ref: str) -> None:
        """Never run."""

    assert loaded.task("t").call(Call(pay, {"ref": "r1"}, approve=lambda verdict: False)).denied


def test_what_another_gate_guards_is_judged_by_both(tmp_path: Path) -> None:
    loaded = gate(tmp_path, PAY)

    @loaded.tool
    def pay(ref: str) -> str:
        return ref

    inner, outer = loaded.task("inner"), Gate.load("default").task("outer")
    assert type(outer.call(pay, ref="r1").error) is NoTaskError
    with inner.active():
        assert outer.call(Call(pay, {"ref": "r2"})).value() == "r2"
    assert (inner.spent["tool_calls"], outer.spent["tool_calls"]) == (1.0, 2.0)
