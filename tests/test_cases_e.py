"""Cases that need a harness: budgets of nothing, batches over the limit, a task that goes on in a new process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from callgate import Gate, PolicyError, SpawnError, Task, UnknownCallError

POLICY = """\
apiVersion: callgate/v1
kind: GuardPolicy
metadata: {name: p}
spec:
  undeclared_tools: allow
  extends: [default]
"""


def gate(folder: Path, spec: str) -> Gate:
    (folder / "policy.yaml").write_text(POLICY + spec)
    return Gate.load(folder)


def run(task: Task, tool: str, arguments: dict[str, Any], call_id: str, result: object) -> tuple[str, tuple[str, ...]]:
    verdict = task.admit(tool, arguments, call_id=call_id)
    if verdict.allowed:
        task.observe(call_id, result=result)
    return verdict.action, verdict.reasons


class TestE03:
    def test_a_budget_of_nothing_refuses_the_first_call(self, tmp_path: Path) -> None:
        task = gate(tmp_path, "  budgets: {tool_calls: 0}\n").task("t")
        assert run(task, "get", {}, "c1", 1) == ("refuse", ("budget_tool_calls",))
        assert task.spent["tool_calls"] == 0

    @pytest.mark.parametrize("limit", ["-1", "none", "null2", "1.5"])
    def test_what_is_no_limit_is_rejected_at_load(self, tmp_path: Path, limit: str) -> None:
        with pytest.raises(PolicyError) as caught:
            gate(tmp_path, f"  budgets: {{tool_calls: {limit}}}\n")
        [found] = caught.value.diagnostics
        assert found.span is not None
        assert (found.span.line, found.span.column, found.pointer) == (7, 25, "/spec/budgets/tool_calls")

    def test_no_limit_has_to_be_written_out(self, tmp_path: Path) -> None:
        policy = POLICY.replace("  extends: [default]\n", "  budgets: {steps: 9}\n  time: {task: 1h}\n")
        (tmp_path / "policy.yaml").write_text(policy)
        with pytest.raises(PolicyError, match="tokens"):
            Gate.load(tmp_path)
        (tmp_path / "policy.yaml").write_text(policy.replace("9}", "9, tokens: {limit: unlimited, reason: free}}"))
        assert run(Gate.load(tmp_path).task("t"), "get", {}, "c1", 1) == ("allow", ())


class TestE04:
    """A tree of depth 2 on one pool of 20 calls. Separate processes share a pool once there are stores for it."""

    def test_the_pool_ends_at_its_limit_for_every_agent_at_once(self, tmp_path: Path) -> None:
        root = gate(tmp_path, "  budgets: {tool_calls: 20, depth: 2}\n").task("t")
        first, second = root.child("first"), root.child("second")

        def calls(agent: Task, numbers: range) -> list[str]:
            return [run(agent, "get", {"agent": agent.agent, "n": n}, f"{agent.agent}-{n}", n)[0] for n in numbers]

        assert calls(first, range(8)) + calls(second, range(7)) == ["allow"] * 15
        third = first.child("third")
        before = root.spent
        with pytest.raises(SpawnError) as caught:
            third.child("grandchild")
        assert (caught.value.reason, root.spent) == ("budget_depth", before)
        # who never started has taken nothing, its name included: an agent of that name may still start where it may
        assert first.child("grandchild").admit("get", {"n": 0}, call_id="g").allowed
        third.abandon("g")
        assert calls(third, range(5)) == ["allow"] * 5
        for agent in (root, first, second, third):
            assert run(agent, "get", {"last": agent.agent}, "last", 1) == ("refuse", ("budget_tool_calls",))
        assert root.spent["tool_calls"] == 20


class TestD2:
    @pytest.mark.parametrize(
        ("preset", "steps", "tokens", "seconds"),
        [("simple", 10, 50_000, 600.0), ("medium", 32, 200_000, 600.0), ("complex", 100, 1_000_000, 1800.0)],
    )
    def test_a_preset_stands_for_steps_tokens_and_time(
        self, tmp_path: Path, preset: str, steps: int, tokens: int, seconds: float
    ) -> None:
        text = POLICY.replace("  extends: [default]\n", f"  budgets: {{preset: {preset}}}\n")
        (tmp_path / "policy.yaml").write_text(text)
        made = Gate.load(tmp_path)

        task = made.task("steps")
        taken = [run(task, "get", {"n": n}, f"c{n}", n)[1] for n in range(steps + 1)]
        assert taken == [()] * steps + [("budget_steps",)]

        task = made.task("tokens")
        task.usage(tokens=tokens - 1)
        assert run(task, "get", {"n": 0}, "c0", 0) == ("allow", ())
        task.usage(tokens=1)
        assert run(task, "get", {"n": 1}, "c1", 1) == ("refuse", ("budget_tokens",))

        task = made.task("time")
        assert task.admit("get", {"n": 0}, now=seconds - 0.5).allowed
        assert task.admit("get", {"n": 1}, now=seconds).reasons == ("budget_time",)

    def test_a_single_value_overrides_its_part_of_the_preset(self, tmp_path: Path) -> None:
        text = POLICY.replace("  extends: [default]\n", "  budgets: {preset: simple, steps: 2}\n")
        (tmp_path / "policy.yaml").write_text(text)
        assert dict(Gate.load(tmp_path).policy.limits)["steps"] == 2
        assert dict(Gate.load(tmp_path).policy.limits)["tokens"] == 50_000


class TestD4:
    def test_a_resumed_task_has_all_its_counters_and_a_person_s_turn_gives_none_back(self, tmp_path: Path) -> None:
        made = gate(tmp_path, "  budgets: {tool_calls: 3, steps: 10}\n")
        task = made.task("t")
        for n in range(2):
            run(task, "get", {"n": n}, f"c{n}", n)
        resumed = Gate.load(tmp_path).resume(task.snapshot())
        assert resumed.spent == task.spent
        resumed.user_turn(by="human")
        assert run(resumed, "get", {"n": 2}, "c2", 2) == ("allow", ())
        assert run(resumed, "get", {"n": 3}, "c3", 3) == ("refuse", ("budget_tool_calls",))


class TestE06:
    BATCH = tuple({"tool": "get", "arguments": {"n": n}, "call_id": f"b{n}"} for n in range(4))

    def batch(self, folder: Path, mode: str) -> tuple[Task, list[tuple[str, str, tuple[str, ...]]]]:
        task = gate(folder, f"  budgets: {{tool_calls: 6, notes_at: [], batch: {mode}}}\n").task("t")
        for n in range(5):
            assert run(task, "get", {"before": n}, f"c{n}", n) == ("allow", ())
        verdicts = task.admit_all(self.BATCH)
        return task, [(verdict.call_id, verdict.action, verdict.reasons) for verdict in verdicts]

    def test_a_prefix_runs_and_every_id_has_one_answer(self, tmp_path: Path) -> None:
        task, answers = self.batch(tmp_path, "admit_prefix")
        over = ("refuse", ("budget_tool_calls",))
        assert answers == [("b0", "allow", ()), *((call_id, *over) for call_id in ("b1", "b2", "b3"))]
        assert task.spent["tool_calls"] == 6

    def test_all_or_nothing_takes_nothing(self, tmp_path: Path) -> None:
        task, answers = self.batch(tmp_path, "all_or_nothing")
        assert answers == [(f"b{n}", "refuse", ("budget_tool_calls",)) for n in range(4)]
        assert task.spent["tool_calls"] == 5
        assert run(task, "get", {"after": 1}, "c9", 1) == ("allow", ())

    def test_what_never_ran_is_given_back(self, tmp_path: Path) -> None:
        task, _ = self.batch(tmp_path, "admit_prefix")
        task.abandon("b0")
        assert task.spent["tool_calls"] == 5


class TestE08:
    """Three equal calls, a snapshot, a new process: the guard remembers."""

    CODE = """\
import sys
from callgate import Gate
task = Gate.load(sys.argv[1]).resume(sys.stdin.read())
print(task.admit("get", {"id": 1}).action)
task.user_turn(by="human")
print(task.admit("get", {"id": 1}, call_id="again").action)
print(*(task.admit("pay", {"id": 1}).reasons))
"""

    def test_a_resumed_task_refuses_until_a_person_speaks_and_never_repeats_an_effect(self, tmp_path: Path) -> None:
        (tmp_path / "tools.yaml").write_text(
            "apiVersion: callgate/v1\nkind: ToolManifest\nmetadata: {name: t}\n"
            "spec: {tools: {get: {effect: read}, pay: {effect: external, idempotent: false}}}\n"
        )
        task = gate(tmp_path, "").task("t")
        assert run(task, "pay", {"id": 1}, "p", "paid") == ("allow", ())
        for n in range(3):
            assert run(task, "get", {"id": 1}, f"c{n}", "same") == ("allow", ())
        done = subprocess.run(
            [sys.executable, "-c", self.CODE, str(tmp_path)],
            input=task.snapshot(), capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stdout.splitlines() == ["refuse", "allow", "duplicate_effect"]


class TestE09:
    """What can never fire is not loaded."""

    @pytest.mark.parametrize(
        ("spec", "code", "word"),
        [
            ("detectors: {exact_repeats: {refuse_after: 3}}", "CG201", "did you mean `exact_repeat`"),
            ("detectors: {same_error: {note_after: 5, refuse_after: 3}}", "CG401", "is never reached"),
            ("detectors: {window: 12, frequency: {refuse_after: 13}}", "CG402", "the window holds 12"),
            ("rules: [{id: r, when: args.n > 5 && args.n < 3, action: refuse}]", "CG501", "the rule `r` never fires"),
        ],
    )
    def test_it_is_refused_at_load_with_why(self, tmp_path: Path, spec: str, code: str, word: str) -> None:
        head = "apiVersion: callgate/v1\nkind: GuardPolicy\nmetadata: {name: p}\nspec:\n  extends: [default]\n  "
        (tmp_path / "p.yaml").write_text(head + spec + "\n")
        with pytest.raises(PolicyError) as caught:
            Gate.load(tmp_path)
        found = [diagnostic for diagnostic in caught.value.diagnostics if diagnostic.severity == "error"]
        assert [diagnostic.code for diagnostic in found] == [code]
        assert word in found[0].message + (found[0].hint or "")


def test_a_verdict_is_no_condition_so_that_a_refusal_cannot_pass_for_a_yes() -> None:
    verdict = Gate.load("default").task("t").admit("look", {})
    with pytest.raises(TypeError, match=r"ask `verdict\.allowed`"):
        bool(verdict)


def test_what_is_told_of_a_call_that_is_not_out_says_why() -> None:
    task = Gate.load("default").task("t")
    verdict = task.admit("look", {})
    with pytest.raises(UnknownCallError, match="waits for an approval"):
        task.approve(verdict.call_id)
    task.observe(verdict.call_id, error="disk on fire")
    with pytest.raises(UnknownCallError, match="came back"):
        task.observe(verdict.call_id, result=1)
