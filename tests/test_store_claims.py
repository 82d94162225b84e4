"""A gate with a store: budgets, effects and denials are those of the task's id, in every task that uses the store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from callgate import Call, Gate, SnapshotError, Task, Verdict
from callgate.stores import MemoryStore, StoreError
from callgate.testing import FakeClock
from effects import FOUND, effects_gate
from memory_claims import MemoryClaims

DOWN = {"error": {"type": "http", "status": 503}}
ASKS = {"id": "asks", "tools": ["mail"], "when": 'args.to == "boss"', "action": "ask"}


class Flaky(MemoryClaims):
    """A store that can be out of reach."""

    def __init__(self) -> None:
        super().__init__()
        self.down = False

    def _reach(self) -> None:
        if self.down:
            raise StoreError("the store is out of reach")


@pytest.fixture
def store() -> Flaky:
    return Flaky()


def gate(room: Path, store: Flaky, **spec: Any) -> Gate:
    plain = effects_gate(room, **spec)
    return Gate(plain.policy, clock=FakeClock(), store=store)


def look(task: Task, number: int = 1) -> Verdict:
    return task.admit("get_order", {"ref": f"r{number}"})


def seen(verdict: Verdict) -> tuple[str, tuple[str, ...]]:
    return verdict.action, verdict.reasons


def test_two_processes_share_the_budget_of_a_task(tmp_path: Path, store: Flaky) -> None:
    one, other = (gate(tmp_path / name, store, budgets={"tool_calls": 3}).task("t") for name in ("a", "b"))
    verdicts = [look(task, number) for number, task in enumerate([one, other, one, other])]
    assert [verdict.action for verdict in verdicts] == ["allow", "allow", "allow", "refuse"]
    assert verdicts[3].reasons == ("budget_tool_calls",)
    assert (one.spent["tool_calls"], other.spent["tool_calls"]) == (3.0, 3.0)


def test_tasks_of_other_names_have_budgets_of_their_own(tmp_path: Path, store: Flaky) -> None:
    shared = gate(tmp_path, store, budgets={"tool_calls": 1})
    assert [look(shared.task(name)).action for name in ("t", "u")] == ["allow", "allow"]


def test_what_never_ran_is_given_back(tmp_path: Path, store: Flaky) -> None:
    task = gate(tmp_path, store, budgets={"tool_calls": 1}).task("t")
    task.abandon(look(task).call_id)
    assert look(task).allowed


def test_a_refused_call_takes_nothing_but_the_step(tmp_path: Path, store: Flaky) -> None:
    rule = {"id": "no", "tools": ["get_order"], "when": 'args.ref == "r9"', "action": "refuse"}
    task = gate(tmp_path, store, rules=[rule]).task("t")
    assert look(task, 9).action == "refuse"
    assert store.counters("t") == {"steps": 1.0, "tool_calls": 0.0, "tokens": 0.0, "cost": 0.0, "tool:get_order": 0.0}


def test_a_batch_larger_than_what_is_left_runs_as_far_as_that_goes(tmp_path: Path, store: Flaky) -> None:
    calls = [{"tool": "get_order", "arguments": {"ref": f"r{number}"}} for number in range(4)]
    prefix = gate(tmp_path / "a", store, budgets={"tool_calls": 2}).task("t")
    assert [verdict.action for verdict in prefix.admit_all(calls)] == ["allow", "allow", "refuse", "refuse"]
    whole = gate(tmp_path / "b", store, budgets={"tool_calls": 2, "batch": "all_or_nothing"}).task("u")
    assert [verdict.action for verdict in whole.admit_all(calls)] == ["refuse"] * 4
    assert store.counters("u")["tool_calls"] == 0.0


def test_a_reserve_is_kept_for_the_tools_that_may_spend_it(tmp_path: Path, store: Flaky) -> None:
    reserve = {"tool_calls": 1, "for": ["save"]}
    task = gate(tmp_path, store, budgets={"tool_calls": 2, "reserve": reserve}).task("t")
    assert look(task, 1).allowed
    assert seen(look(task, 2)) == ("refuse", ("budget_reserved",))
    assert task.admit("save", {"path": "a"}).allowed


def test_tokens_that_one_process_used_are_gone_for_the_other(tmp_path: Path, store: Flaky) -> None:
    one, other = (gate(tmp_path / name, store, budgets={"tokens": 100}).task("t") for name in ("a", "b"))
    one.usage(tokens=60)
    one.observe(look(one).call_id, result=1, tokens=40)
    assert seen(look(other)) == ("refuse", ("budget_tokens",))


def test_an_effect_of_one_process_is_known_to_the_other(tmp_path: Path, store: Flaky) -> None:
    one, other = (gate(tmp_path / name, store).task("t") for name in ("a", "b"))
    mail = one.admit("mail", {"to": "anna"})
    assert seen(other.admit("mail", {"to": "anna"})) == ("refuse", ("effect_in_flight",))
    one.observe(mail.call_id, result="sent")
    assert seen(other.admit("mail", {"to": "anna"})) == ("refuse", ("duplicate_effect",))


def test_another_process_can_verify_what_the_first_one_lost(tmp_path: Path, store: Flaky) -> None:
    one, other = (gate(tmp_path / name, store).task("t") for name in ("a", "b"))
    one.observe(one.admit("create_order", {"ref": "r1"}).call_id, error={"type": "timeout"})
    asked = other.admit("create_order", {"ref": "r1"})
    assert asked.verify is not None and asked.verify.arguments == {"ref": "r1"}
    other.observe(look(other).call_id, result=FOUND)
    assert one.admit("create_order", {"ref": "r1"}).code == "ALREADY_CREATED"


def test_a_denial_holds_in_every_process_until_an_approval(tmp_path: Path, store: Flaky) -> None:
    one, other = (gate(tmp_path / name, store, rules=[ASKS]).task("t") for name in ("a", "b"))
    first, second = one.admit("mail", {"to": "boss"}), one.admit("mail", {"to": "boss", "cc": "ada"})
    one.deny(first.call_id, by="ada", scope="tool", why="not now")
    assert "denied" in other.admit("mail", {"to": "otto"}).reasons
    one.approve(second.call_id, by="ada")
    assert other.admit("mail", {"to": "otto"}).allowed


def test_a_store_out_of_reach_refuses(tmp_path: Path, store: Flaky) -> None:
    task = gate(tmp_path, store).task("t")
    store.down = True
    verdict = look(task)
    assert (verdict.action, verdict.reasons, verdict.code) == ("refuse", ("store_failure",), "STORE_FAILURE")
    assert verdict.findings[0].evidence == {"error": "the store is out of reach"}
    store.down = False
    assert look(task).allowed


def test_a_policy_may_let_calls_run_all_the_same(tmp_path: Path, store: Flaky) -> None:
    task = gate(tmp_path, store, on_failure={"store": "allow"}).task("t")
    store.down = True
    verdict = look(task)
    assert (verdict.action, verdict.reasons) == ("allow", ("store_failure",))
    assert [note.reason for note in verdict.notes] == ["store_failure"]
    assert task.observe(verdict.call_id, result=1).grade == "sufficient"


def test_what_could_not_be_told_is_told_before_anything_else_is_asked(tmp_path: Path, store: Flaky) -> None:
    task = gate(tmp_path, store).task("t")
    mail = task.admit("mail", {"to": "anna"})
    store.down = True
    task.observe(mail.call_id, result="sent")
    assert look(task).reasons == ("store_failure",)
    store.down = False
    assert seen(task.admit("mail", {"to": "anna"})) == ("refuse", ("duplicate_effect",))


class TestAYesWhileTheStoreIsOutOfReach:
    def asked(self, room: Path, store: Flaky, **spec: Any) -> tuple[Task, Verdict]:
        task = gate(room, store, rules=[ASKS], **spec).task("t")
        verdict = task.admit("mail", {"to": "boss"})
        assert verdict.action == "ask"
        return task, verdict

    def test_it_counts_for_the_same_call_once_the_store_is_back(self, tmp_path: Path, store: Flaky) -> None:
        task, verdict = self.asked(tmp_path, store)
        store.down = True
        assert seen(task.approve(verdict.call_id, by="ada")) == ("refuse", ("store_failure",))
        assert seen(task.admit("mail", {"to": "boss"})) == ("refuse", ("store_failure",))
        store.down = False
        mail = task.admit("mail", {"to": "boss"})
        assert mail.allowed
        assert [said["by"] for said in task.report()["decisions"]] == ["ada"]
        assert len(store.entries()) == 1

    def test_it_counts_once(self, tmp_path: Path, store: Flaky) -> None:
        task, verdict = self.asked(tmp_path, store)
        store.down = True
        task.approve(verdict.call_id)
        store.down = False
        task.abandon(task.admit("mail", {"to": "boss"}).call_id)
        assert task.admit("mail", {"to": "boss"}).action == "ask"

    def test_it_counts_for_no_other_call(self, tmp_path: Path, store: Flaky) -> None:
        rule = {"id": "all", "tools": ["mail"], "when": "true", "action": "ask"}
        task = gate(tmp_path, store, rules=[rule]).task("t")
        asked = task.admit("mail", {"to": "anna"})
        store.down = True
        task.approve(asked.call_id)
        store.down = False
        assert task.admit("mail", {"to": "otto"}).action == "ask"
        assert task.admit("mail", {"to": "anna"}).allowed

    def test_a_no_to_the_same_call_ends_it(self, tmp_path: Path, store: Flaky) -> None:
        rules = [ASKS, {**ASKS, "id": "late", "when": "task.elapsed > 5.0"}]
        loaded = gate(tmp_path, store, rules=rules)
        task = loaded.task("t")
        verdict = task.admit("mail", {"to": "boss"})
        store.down = True
        task.approve(verdict.call_id)
        store.down = False
        loaded.clock.advance(6)  # type: ignore[attr-defined]
        other = task.admit("mail", {"to": "boss"})
        assert seen(other) == ("ask", ("rule:late",))  # the other rule's question: nobody has answered that one
        task.deny(other.call_id)
        assert seen(task.admit("mail", {"to": "boss"})) == ("refuse", ("denied", "rule:asks", "rule:late"))

    def test_a_yes_to_a_doubt_counts_too(self, tmp_path: Path, store: Flaky) -> None:
        task = gate(tmp_path, store).task("t")
        task.observe(task.admit("mail", {"to": "anna"}).call_id, error={"type": "timeout"})
        asked = task.admit("mail", {"to": "otto"})
        assert seen(asked) == ("ask", ("ambiguous_effect",))
        store.down = True
        assert task.approve(asked.call_id).reasons == ("store_failure",)
        store.down = False
        assert task.admit("mail", {"to": "otto"}).allowed

    def test_but_not_to_what_came_into_doubt_since(self, tmp_path: Path, store: Flaky) -> None:
        loaded = gate(tmp_path, store)
        task = loaded.task("t")
        task.observe(task.admit("mail", {"to": "anna"}).call_id, error={"type": "timeout"})
        asked = task.admit("mail", {"to": "otto"})
        store.down = True
        task.approve(asked.call_id)
        store.down = False
        loaded.clock.advance(1)  # type: ignore[attr-defined]
        other = task.admit("mail", {"to": "emil"})
        task.observe(task.approve(other.call_id).call_id, error={"type": "timeout"})
        assert seen(task.admit("mail", {"to": "otto"})) == ("ask", ("ambiguous_effect",))

    def test_it_goes_along_in_a_snapshot(self, tmp_path: Path, store: Flaky) -> None:
        task, verdict = self.asked(tmp_path / "a", store)
        store.down = True
        task.approve(verdict.call_id)
        store.down = False
        resumed = gate(tmp_path / "b", store, rules=[ASKS]).resume(task.snapshot())
        assert resumed.admit("mail", {"to": "boss"}).allowed

    def test_the_executor_makes_the_call_without_asking_again(self, tmp_path: Path, store: Flaky) -> None:
        task = gate(tmp_path, store, rules=[ASKS]).task("t")
        questions: list[str] = []

        def ask(verdict: Verdict) -> bool:
            questions.append(verdict.call_id)
            store.down = True
            return True

        call = Call(lambda to: "sent", {"to": "boss"}, tool="mail", approve=ask)
        assert task.call(call).verdict.reasons == ("store_failure",)
        store.down = False
        assert (task.call(call).value(), len(questions)) == ("sent", 1)


NO = {"id": "no", "tools": ["mail"], "when": 'args.to == "boss"', "action": "refuse"}
MAILS = [{"tool": "mail", "arguments": {"to": name}} for name in ("boss", "anna", "otto")]


class TestWhatSiblingsHoldThatDoNotRun:
    """A call that is refused gives back what it holds before its siblings are judged."""

    @pytest.fixture(params=["memory", "store"])
    def loaded(self, request: pytest.FixtureRequest, tmp_path: Path, store: Flaky) -> Any:
        def make(**spec: Any) -> Gate:
            plain = effects_gate(tmp_path, rules=[NO], **spec)
            return Gate(plain.policy, clock=FakeClock(), store=store if request.param == "store" else None)

        return make

    @pytest.mark.parametrize("batch", ["admit_prefix", "all_or_nothing"])
    def test_the_last_of_a_budget_is_for_those_that_run(self, loaded: Any, store: Flaky, batch: str) -> None:
        task = loaded(budgets={"tool_calls": 2, "batch": batch}).task("t")
        assert [verdict.action for verdict in task.admit_all(MAILS)] == ["refuse", "allow", "allow"]
        assert (task.spent["tool_calls"], store.counters("t").get("tool_calls", 2.0)) == (2.0, 2.0)

    def test_what_does_not_fit_all_the_same_is_refused(self, loaded: Any, store: Flaky) -> None:
        task = loaded(budgets={"tool_calls": 1}).task("t")
        assert [verdict.reasons for verdict in task.admit_all(MAILS)] == [("rule:no",), (), ("budget_tool_calls",)]
        assert (task.spent["tool_calls"], store.counters("t").get("tool_calls", 1.0)) == (1.0, 1.0)

    def test_all_or_nothing_looks_at_those_that_would_run(self, loaded: Any, store: Flaky) -> None:
        task = loaded(budgets={"tool_calls": 1, "batch": "all_or_nothing"}).task("t")
        found = [verdict.reasons for verdict in task.admit_all(MAILS)]
        assert found == [("budget_tool_calls", "rule:no"), ("budget_tool_calls",), ("budget_tool_calls",)]
        assert (task.spent["tool_calls"], store.counters("t").get("tool_calls", 0.0)) == (0.0, 0.0)

    def test_the_probe_of_a_breaker_is_for_those_that_run(self, loaded: Any) -> None:
        breaker = {"failures": 1, "open_for": "30s", "probes": 1}
        gate = loaded(tools={"mail": {"effect": "external", "breaker": breaker}})
        task = gate.task("t")
        task.observe(task.admit("mail", {"to": "emil"}).call_id, error={"type": "http", "status": 503})
        gate.clock.advance(31)
        verdicts = task.admit_all(MAILS)
        assert [verdict.reasons for verdict in verdicts] == [("rule:no",), (), ("breaker_open",)]

    def test_a_key_is_for_those_that_run(self, loaded: Any) -> None:
        key = {"effect": "external", "idempotency": {"key": '["mail"]'}}
        task = loaded(tools={"mail": key}).task("t")
        found = [verdict.reasons for verdict in task.admit_all(MAILS[:2])]
        assert found == [("rule:no",), ()]

    def test_it_is_given_back_once(self, tmp_path: Path, store: Flaky) -> None:
        """What was given back to the store before the verdicts is not given back again after them."""
        plain = effects_gate(tmp_path, rules=[NO], budgets={"tool_calls": 2})
        task, other = (Gate(plain.policy, clock=FakeClock(), store=store).task("t") for _ in range(2))
        task.admit_all(MAILS)
        assert seen(look(other)) == ("refuse", ("budget_tool_calls",))
        assert len({json.loads(claim)["id"] for claim in store.claims}) == len(store.claims)


def test_an_interruption_while_the_store_is_asked_leaves_nothing_taken(tmp_path: Path) -> None:
    class Interrupted(MemoryClaims):
        def _reach(self) -> None:
            if len(self.claims) == 2:
                self.claims.append("one more, so that this happens once")
                raise KeyboardInterrupt

    store = Interrupted()
    task = Gate(effects_gate(tmp_path).policy, clock=FakeClock(), store=store).task("t")
    calls = [{"tool": "mail", "arguments": {"to": name}} for name in ("anna", "otto")]
    with pytest.raises(KeyboardInterrupt):
        task.admit_all(calls)
    assert [verdict.allowed for verdict in task.admit_all(calls)] == [True, True]
    assert store.counters("t")["tool_calls"] == 2.0


def test_what_a_store_took_whose_answer_was_lost_is_given_back(tmp_path: Path) -> None:
    class Mute(MemoryStore):
        mute = 0

        def commit(self, claim: str, now: float) -> str:
            grant = super().commit(claim, now)
            self.mute -= 1
            if self.mute == 0:
                raise StoreError("the answer was lost")
            return grant

    for lost in (1, 2):  # of the step, of the call
        store = Mute()
        task = Gate(effects_gate(tmp_path).policy, clock=FakeClock(), store=store).task("t")
        store.mute = lost
        assert seen(task.admit("mail", {"to": "anna"})) == ("refuse", ("store_failure",))
        mail = task.admit("mail", {"to": "anna"})
        assert mail.allowed
        assert store.counters("t")["tool_calls"] == 1.0
        assert len(store.entries(0.0, task="t")) == 1
        task.observe(mail.call_id, result="sent")
        assert seen(task.admit("mail", {"to": "anna"})) == ("refuse", ("duplicate_effect",))


def test_a_call_that_runs_without_an_answer_keeps_what_the_store_took(tmp_path: Path) -> None:
    class Mute(MemoryStore):
        mute = False

        def commit(self, claim: str, now: float) -> str:
            grant = super().commit(claim, now)
            if self.mute and "mail" in claim:
                raise StoreError("the answer was lost")
            return grant

    store = Mute()
    policy = effects_gate(tmp_path, on_failure={"store": "allow"}).policy
    one, other = (Gate(policy, clock=FakeClock(), store=store).task("t") for _ in range(2))
    store.mute = True
    assert one.admit("mail", {"to": "anna"}).allowed
    store.mute = False
    assert seen(other.admit("mail", {"to": "anna"})) == ("refuse", ("effect_in_flight",))


def test_a_resumed_task_leaves_what_was_out_in_doubt(tmp_path: Path, store: Flaky) -> None:
    task = gate(tmp_path / "a", store).task("t")
    task.admit("mail", {"to": "anna"})
    resumed = gate(tmp_path / "b", store).resume(task.snapshot())
    assert seen(resumed.admit("mail", {"to": "otto"})) == ("ask", ("ambiguous_effect",))


def test_a_snapshot_is_resumed_once_in_all_processes_together(tmp_path: Path) -> None:
    store = MemoryStore()
    one, other = (Gate(effects_gate(tmp_path / name).policy, clock=FakeClock(), store=store) for name in ("a", "b"))
    snapshot = one.task("t").snapshot()
    resumed = one.resume(snapshot)
    with pytest.raises(SnapshotError, match="resumed already"):
        other.resume(snapshot)
    assert other.resume(resumed.snapshot()).id == "t"


def test_a_path_names_a_store_that_is_kept(tmp_path: Path) -> None:
    effects_gate(tmp_path)
    one, other = (
        Gate.load(tmp_path / "effects.yaml", store=tmp_path / "shared.db", clock=FakeClock()).task("t")
        for _ in range(2)
    )
    one.observe(one.admit("mail", {"to": "anna"}).call_id, result="sent")
    assert seen(other.admit("mail", {"to": "anna"})) == ("refuse", ("duplicate_effect",))


def test_every_claim_of_a_task_has_an_id_of_its_own(tmp_path: Path, store: Flaky) -> None:
    task = gate(tmp_path, store).task("t")
    for number in range(3):
        look(task, number)
    ids = [json.loads(claim)["id"] for claim in store.claims]
    assert len(set(ids)) == len(ids) == 6
