"""Layers of time: of the tool, its server, the step, the task and the workflow; what is given up is told as it is."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from callgate import Call, CallTimeout
from callgate.runtime.servers import Servers
from executor_gates import Flaky, Waits, gate, noted

READ = "    look: {effect: read}\n    waits: {effect: read, timeout: 50ms}\n"


@pytest.fixture
def waits() -> Iterator[Waits]:
    tool = Waits()
    yield tool
    tool.go.set()


def lasting(error: BaseException | None) -> tuple[str, float]:
    assert isinstance(error, CallTimeout)
    return error.layer, error.seconds


def test_a_tool_that_gives_no_answer_in_time_is_given_up(tmp_path: Path, waits: Waits) -> None:
    task = gate(tmp_path, READ).task("t")
    result = task.call(waits)
    assert (lasting(result.error), result.ok, result.attempts) == (("tool", 0.05), False, 1)
    assert str(result.error) == "`waits` gave no answer: none came within 0.05 s (its `timeout`, else `time.tool`)"
    with pytest.raises(TimeoutError):
        result.value()
    assert not waits.ended.is_set()  # nobody can end it: it goes on, and nobody listens


def test_a_late_result_is_dropped(tmp_path: Path, waits: Waits) -> None:
    task = gate(tmp_path, READ).task("t")
    task.call(waits)
    before = task.report()["calls"]
    waits.go.set()
    assert waits.ended.wait(30)
    assert task.report()["calls"] == before
    assert task.call(Call(Flaky(), tool="look")).ok


@pytest.mark.parametrize(
    ("effect", "klass"), [("read", "transient"), ("write", "ambiguous"), ("external", "ambiguous")]
)
def test_an_effect_that_was_given_up_may_have_happened(tmp_path: Path, waits: Waits, effect: str, klass: str) -> None:
    task = gate(tmp_path, f"    waits: {{effect: {effect}, timeout: 50ms}}\n").task("t")
    assessment = task.call(waits).assessment
    assert assessment is not None and assessment.error_class == klass


@pytest.mark.parametrize(
    ("time", "layer"),
    [
        ("tool: 50ms, task: 10m", "tool"),
        ("server: 50ms, task: 10m", "server"),
        ("step: 50ms, task: 10m", "step"),
        ("task: 50ms", "task"),
        ("workflow: 50ms, task: 10m", "workflow"),
    ],
)
def test_the_shortest_of_the_layers_counts(tmp_path: Path, waits: Waits, time: str, layer: str) -> None:
    task = gate(tmp_path, "    waits: {effect: read}\n", f"  time: {{{time}}}\n", server="erp").task("t")
    found = lasting(task.call(waits).error)
    # of a task and a workflow a little is gone already
    assert found[0] == layer and 0.0 <= found[1] <= 0.05


def test_a_tools_own_time_goes_before_that_of_every_tool(tmp_path: Path, waits: Waits) -> None:
    task = gate(tmp_path, READ, "  time: {tool: 10m}\n").task("t")
    assert lasting(task.call(waits).error) == ("tool", 0.05)


def test_each_attempt_has_the_time_of_the_tool(tmp_path: Path, waits: Waits) -> None:
    tools = "    waits: {effect: read, timeout: 20ms, retry: {max: 2, backoff: {jitter: none}}}\n"
    waited: list[float] = []
    task = gate(tmp_path, tools, pauses=noted(waited)).task("t")
    result = task.call(waits)
    assert (result.attempts, waits.asked, waited) == (3, 3, [1.0, 2.0])


def test_one_of_several_that_is_given_up_stops_no_sibling(tmp_path: Path, waits: Waits) -> None:
    task = gate(tmp_path, READ).task("t")
    results = task.call_all([Call(waits), Call(Flaky(), {"q": 1}, tool="look")])
    assert [result.ok for result in results] == [False, True]


class TestServers:
    TOOLS = "    waits: {effect: read, timeout: 10m}\n    look: {effect: read, timeout: 10m}\n"

    def test_what_waits_for_one_server_fails_together(self, tmp_path: Path, waits: Waits) -> None:
        loaded = gate(tmp_path, self.TOOLS, "  time: {server: 300ms}\n", server="erp")
        other = Waits()
        task = loaded.task("t")
        results = task.call_all([Call(waits), Call(other, {"q": 1}, tool="look")])
        other.go.set()
        assert [lasting(result.error) for result in results] == [("server", 0.3), ("server", 0.3)]
        assert str(results[1].error) == "`look` gave no answer: its server `erp` was silent for 0.3 s (`time.server`)"

    def test_calls_of_other_tasks_and_threads_fail_with_it(self, tmp_path: Path, waits: Waits) -> None:
        """The one that waits for ten minutes is told by the one that waits for less."""
        loaded = gate(tmp_path, self.TOOLS, server="erp")
        ended: list[Any] = []
        thread = threading.Thread(target=lambda: ended.append(loaded.task("a").call(waits)))
        thread.start()
        assert waits.began.wait(30)
        loaded.servers.silent("erp")
        thread.join(30)
        assert [lasting(result.error)[0] for result in ended] == ["server"]

    def test_coroutines_fail_with_it_too(self, tmp_path: Path, waits: Waits) -> None:
        loaded = gate(tmp_path, self.TOOLS, "  time: {server: 300ms}\n", server="erp")

        async def hang(**_: Any) -> None:
            await asyncio.Event().wait()

        async def both() -> list[Any]:
            task = loaded.task("t")
            return await task.acall_all([Call(hang, {"q": 1}, tool="look"), Call(waits)])

        results = asyncio.run(both())
        assert [lasting(result.error)[0] for result in results] == ["server", "server"]

    def test_another_server_is_another_matter(self) -> None:
        servers, given_up = Servers(), []
        servers.enter("erp", lambda: given_up.append("erp"))
        leave = servers.enter("crm", lambda: given_up.append("crm"))
        servers.enter(None, lambda: given_up.append("none"))
        servers.silent("erp")
        assert given_up == ["erp"]
        leave()
        leave()
        servers.silent("crm")
        assert given_up == ["erp"]


def test_what_has_to_run_in_its_callers_thread_has_no_time(tmp_path: Path) -> None:
    task = gate(tmp_path, "    look: {effect: read, timeout: 1ms}\n").task("t")
    ran: list[int] = []
    held = threading.Event()

    def look() -> str:
        held.wait(0.05)
        ran.append(threading.get_ident())
        return "late, but here"

    result = task.call(Call(look, threaded=False))
    assert (result.value(), ran) == ("late, but here", [threading.get_ident()])


def test_a_function_runs_in_the_context_of_its_caller(tmp_path: Path) -> None:
    from contextvars import ContextVar

    tenant: ContextVar[str] = ContextVar("tenant")
    tenant.set("acme")
    task = gate(tmp_path, READ).task("t")
    assert task.call(Call(lambda: tenant.get(), tool="look")).value() == "acme"


def test_a_function_that_hangs_does_not_keep_the_process(tmp_path: Path) -> None:
    import subprocess
    import sys

    gate(tmp_path, "    hang: {effect: read, timeout: 20ms}\n")
    program = (
        "import sys, time\nfrom callgate import Gate\n"
        "def hang(): time.sleep(3600)\n"
        "print(type(Gate.load(sys.argv[1]).task('t').call(hang).error).__name__)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "policy.yaml")], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "CallTimeout\n", "")
