"""Further attempts of a failed call, as the executor admits them; and what a verdict tells it of times and pauses."""

from pathlib import Path
from typing import Any

import pytest

from callgate import Gate, Task

HEAD = "apiVersion: callgate/v1\n"
FAILED = {"type": "network", "message": "refused"}


def gate(folder: Path, tools: str, policy: str = "") -> Gate:
    (folder / "policy.yaml").write_text(
        f"{HEAD}kind: GuardPolicy\nmetadata: {{name: p}}\nspec:\n  extends: [default]\n  tools: [t]\n{policy}"
        f"---\n{HEAD}kind: ToolManifest\nmetadata: {{name: t}}\nspec:\n  server: erp\n  tools:\n{tools}"
    )
    return Gate.load(folder)


READ = "    look: {effect: read, retry: {max: 3}}\n    list: {effect: read, retry: {max: 3}}\n"


def again(task: Task, tool: str, call_id: str) -> Any:
    return task.admit(tool, {}, call_id=call_id, again=True)


def test_a_further_attempt_takes_no_step_but_a_retry_and_a_call(tmp_path: Path) -> None:
    task = gate(tmp_path, READ).task("t")
    task.observe(task.admit("look", {}, call_id="a").call_id, error=FAILED)
    assert again(task, "look", "a").allowed
    assert {name: task.spent[name] for name in ("steps", "tool_calls", "retries")} == {
        "steps": 1.0,
        "tool_calls": 2.0,
        "retries": 1.0,
    }


def test_in_a_round_a_further_attempt_is_not_answered_with_the_one_before(tmp_path: Path) -> None:
    task = gate(tmp_path, READ).task("t")
    with task.round():
        task.observe(task.admit("look", {}, call_id="a").call_id, error=FAILED)
        assert task.admit("look", {}, call_id="b").reuse_of == "a"
        assert again(task, "look", "a").allowed
        # an equal call is answered with the attempt that is out
        assert task.admit("look", {}, call_id="c").reuse_of == "a"
        task.observe("a", result={"n": 1})
    assert task.spent["steps"] == 1.0


def test_a_further_attempt_closes_no_round_of_a_batch(tmp_path: Path) -> None:
    """Else outcomes of the siblings would be observations of their own, and four failures no longer one."""
    task = gate(tmp_path, READ).task("t")
    calls = [{"tool": "look", "arguments": {}, "call_id": "a"}, {"tool": "list", "arguments": {}, "call_id": "b"}]
    assert all(verdict.allowed for verdict in task.admit_all(calls))
    task.observe("a", error=FAILED)
    assert again(task, "look", "a").allowed
    gained = task.observe("b", result={"items": [1]})
    assert gained.gain == 0  # the round is open: nothing was fed yet
    task.observe("a", result={"n": 1})
    assert task.admit("list", {}, call_id="d").allowed
    assert task.spent["steps"] == 2.0


def test_an_attempt_that_is_out_still_answers_its_equal(tmp_path: Path) -> None:
    task = gate(tmp_path, READ).task("t")
    with task.round():
        assert task.admit("look", {}, call_id="a").allowed
        assert again(task, "look", "b").reuse_of == "a"
        task.observe("a", result={"n": 1})


def test_a_further_attempt_over_the_budget_is_refused(tmp_path: Path) -> None:
    task = gate(tmp_path, READ, "  budgets: {retries: 1}\n").task("t")
    task.observe(task.admit("look", {}, call_id="a").call_id, error=FAILED)
    task.observe(again(task, "look", "a").call_id, error=FAILED)
    refused = again(task, "look", "a")
    assert (refused.action, refused.reasons) == ("refuse", ("budget_retries",))
    assert task.spent["retries"] == 1.0


def test_a_refused_attempt_leaves_the_answer_of_the_round_as_it_was(tmp_path: Path) -> None:
    task = gate(tmp_path, READ, "  budgets: {retries: 0}\n").task("t")
    with task.round():
        task.observe(task.admit("look", {}, call_id="a").call_id, error=FAILED)
        assert again(task, "look", "x").action == "refuse"
        assert task.admit("look", {}, call_id="b").reuse_of == "a"


def test_a_verdict_tells_how_long_each_layer_may_take(tmp_path: Path) -> None:
    time = "  time: {tool: 15s, server: 60s, step: 2m, task: 10m, workflow: 30m}\n"
    loaded = gate(tmp_path, "    look: {effect: read}\n    slow: {effect: read, timeout: 45s}\n", time)
    task = loaded.task("t")
    first = task.admit("look", {}, now=0.0)
    assert (first.timeout, first.server) == (15.0, "erp")
    assert first.time_left == {"server": 60.0, "step": 120.0, "task": 600.0, "workflow": 1800.0}
    with task.round(now=100.0):
        late = task.admit("slow", {}, now=130.0)
    assert late.timeout == 45.0
    assert late.time_left == {"server": 60.0, "step": 90.0, "task": 470.0, "workflow": 1670.0}


def test_a_tool_without_a_server_has_no_time_of_one(tmp_path: Path) -> None:
    loaded = gate(tmp_path, "    look: {effect: read}\n", "  time: {server: 60s}\n  undeclared_tools: allow\n")
    other = loaded.task("t").admit("other", {})
    assert (other.allowed, other.server, "server" in other.time_left) == (True, None, False)


@pytest.mark.parametrize(
    ("backoff", "told"),
    [
        ("", (1.0, 2.0, 60.0, "full")),
        (", backoff: {initial: 200ms, factor: 3.0, max: 5s, jitter: equal}", (0.2, 3.0, 5.0, "equal")),
        (", backoff: {jitter: none}", (1.0, 2.0, 60.0, "none")),
        (", backoff: {jitter: decorrelated}", (1.0, 2.0, 60.0, "decorrelated")),
        (", backoff: {jitter: proportional}", (1.0, 2.0, 60.0, "proportional")),
    ],
)
def test_a_verdict_tells_how_pauses_are_spread(tmp_path: Path, backoff: str, told: tuple[Any, ...]) -> None:
    loaded = gate(tmp_path, f"    look: {{effect: read, retry: {{max: 3{backoff}}}}}\n    plain: {{effect: read}}\n")
    task = loaded.task("t")
    assert task.admit("look", {}).backoff == told
    assert task.admit("plain", {}).backoff is None
