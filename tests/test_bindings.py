"""Bindings: to whom which policy applies, several at once, modes, parameters; one state for all of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bound_folder import REPEAT, actions, binding, errors, gate, policy, repeat
from callgate import PolicyError, SpawnError

CEILING = {"ceiling": {"type": "number", "minimum": 0}}
OVER = {"id": "over", "tools": ["pay"], "when": "args.amount > params.ceiling", "action": "refuse"}


def codes(folder: Path) -> list[str]:
    with pytest.raises(PolicyError) as caught:
        gate(folder)
    return [diagnostic.code for diagnostic in errors(caught.value)]


def test_without_a_binding_the_only_policy_applies_to_everyone(tmp_path: Path) -> None:
    policy(tmp_path, detectors=REPEAT)
    verdicts = repeat(gate(tmp_path).task("t", tenant="anyone"), 4)
    assert actions(verdicts) == "aaar"
    assert [verdict.bindings for verdict in verdicts] == [()] * 4


def test_a_policy_keeps_its_revision_under_its_bindings_and_policies_of_several_names_have_none(tmp_path: Path) -> None:
    policy(tmp_path)
    written = tmp_path / "GuardPolicy-p.yaml"
    written.write_text(written.read_text().replace('"name": "p"', '"name": "p", "revision": "1"'))
    binding(tmp_path, "acme", match={"tenants": ["acme"]})
    binding(tmp_path, "zeta", match={"tenants": ["zeta"]})
    guard = gate(tmp_path)
    assert (guard.policy.revision, guard.task("t", tenant="acme").report()["policy"]["revision"]) == ("1", "1")
    policy(tmp_path, "other")
    binding(tmp_path, "rest", "other", match={})
    assert gate(tmp_path).policy.revision == ""


def test_without_a_binding_several_policies_are_an_error(tmp_path: Path) -> None:
    policy(tmp_path, "a")
    policy(tmp_path, "b")
    assert codes(tmp_path) == ["CG711"]
    assert gate(tmp_path, policy="a").policy.name == "a"


def test_a_task_that_no_binding_names_is_refused_whatever_it_calls(tmp_path: Path) -> None:
    policy(tmp_path)
    binding(tmp_path, "acme", match={"tenants": ["acme"]})
    guard = gate(tmp_path)
    verdict = guard.task("t", tenant="zeta", labels={"env": "dev"}).admit("look", {})
    assert (verdict.action, verdict.reasons, verdict.code) == ("refuse", ("unbound",), "NO_POLICY_APPLIES")
    assert verdict.findings[0].evidence == {"agent": "root", "tenant": "zeta", "labels": {"env": "dev"}}
    reply = json.loads(verdict.reply or "")
    assert reply["message"].startswith("No policy applies to the agent `root` of the tenant `zeta`")
    assert guard.task("t").admit("look", {}).reasons == ("unbound",)
    assert guard.task("t", tenant="acme").admit("look", {}).allowed


@pytest.mark.parametrize(
    ("match", "fits"),
    [
        ({}, True),
        ({"agents": ["root", "other"]}, True),
        ({"agents": ["other"]}, False),
        ({"tenants": ["acme"], "labels": {"env": "prod"}}, True),
        ({"tenants": ["acme"], "labels": {"env": "dev"}}, False),
        ({"labels": {"team": "x"}}, False),
        ({"agents": []}, False),
    ],
)
def test_all_that_is_written_in_match_must_fit_and_of_a_list_one_entry(
    tmp_path: Path, match: dict[str, Any], fits: bool
) -> None:
    policy(tmp_path)
    binding(tmp_path, "b", match=match)
    task = gate(tmp_path).task("t", tenant="acme", labels={"env": "prod", "region": "eu"})
    assert task.admit("look", {}).allowed is fits


def test_agents_of_one_task_may_be_bound_to_different_policies(tmp_path: Path) -> None:
    policy(tmp_path, "strict", detectors={"exact_repeat": {"note_after": 1, "refuse_after": 1}})
    policy(tmp_path, "lax", detectors=REPEAT)
    binding(tmp_path, "boss", "lax", match={"agents": ["root"]})
    binding(tmp_path, "workers", "strict", match={"agents": ["worker"]})
    root = gate(tmp_path).task("t")
    worker = root.child("worker")
    stranger = root.child("stranger")
    assert (actions(repeat(root, 4)), actions(repeat(worker, 2, n=1))) == ("aaar", "ar")
    assert [verdict.bindings for verdict in repeat(worker, 1, n=2)] == [(("workers", "strict", "enforce", False),)]
    assert stranger.admit("look", {}).reasons == ("unbound",)


class TestSeveralThatMatch:
    def test_the_strictest_verdict_wins_and_each_is_shown(self, tmp_path: Path) -> None:
        policy(tmp_path, "base", detectors={"exact_repeat": {"note_after": 2, "refuse_after": 2}})
        policy(tmp_path, "team", detectors={"exact_repeat": {"note_after": 4, "refuse_after": 4}})
        binding(tmp_path, "all", "base")
        binding(tmp_path, "acme", "team", match={"tenants": ["acme"]})
        verdicts = repeat(gate(tmp_path).task("t", tenant="acme"), 3)
        assert actions(verdicts) == "aar"
        assert verdicts[2].bindings == (("acme", "team", "enforce", False), ("all", "base", "enforce", False))
        assert verdicts[2].reasons == ("exact_repeat",)
        assert verdicts[2].findings[0].evidence == {"count": 2, "threshold": 2}

    def test_alone_the_laxer_one_lets_more_through(self, tmp_path: Path) -> None:
        policy(tmp_path, "base", detectors={"exact_repeat": {"note_after": 2, "refuse_after": 2}})
        policy(tmp_path, "team", detectors={"exact_repeat": {"note_after": 4, "refuse_after": 4}})
        binding(tmp_path, "all", "base", match={"tenants": ["zeta"]})
        binding(tmp_path, "acme", "team", match={"tenants": ["acme"]})
        assert actions(repeat(gate(tmp_path).task("t", tenant="acme"), 5)) == "aaaar"

    def test_rules_and_budgets_of_both_hold(self, tmp_path: Path) -> None:
        asks = {"id": "large", "tools": ["pay"], "when": "args.amount > 100", "action": "ask"}
        never = {"id": "none", "tools": ["pay"], "when": "args.amount > 1000", "action": "refuse"}
        policy(tmp_path, "a", rules=[asks])
        policy(tmp_path, "b", rules=[never], budgets={"tool_calls": 2})
        binding(tmp_path, "a", "a")
        binding(tmp_path, "b", "b")
        task = gate(tmp_path).task("t")
        assert task.admit("pay", {"amount": 1}).allowed
        asked = task.admit("pay", {"amount": 500})
        assert (asked.action, asked.reasons) == ("ask", ("rule:large",))
        refused = task.admit("pay", {"amount": 5000})
        assert (refused.action, refused.reasons) == ("refuse", ("rule:large", "rule:none"))
        assert task.approve(asked.call_id).allowed
        assert task.admit("look", {}).reasons == ("budget_tool_calls",)

    def test_an_undeclared_tool_is_refused_where_one_of_them_says_so(self, tmp_path: Path) -> None:
        policy(tmp_path, "a", undeclared_tools="refuse")
        policy(tmp_path, "b")
        binding(tmp_path, "a", "a", match={"tenants": ["acme"]})
        binding(tmp_path, "b", "b")
        guard = gate(tmp_path)
        assert guard.task("t", tenant="acme").admit("lok", {}).reasons == ("unknown_tool",)
        assert guard.task("t", tenant="zeta").admit("lok", {}).allowed

    def test_cycles_count_by_each_one_s_own_laps_on_one_stream(self, tmp_path: Path) -> None:
        policy(tmp_path, "two", detectors={"cycle": {"laps": 2, "max_period": 2}})
        policy(tmp_path, "four", detectors={"cycle": {"laps": 4, "max_period": 8}})
        binding(tmp_path, "two", "two", match={"labels": {"hurry": "yes"}})
        binding(tmp_path, "four", "four")
        guard = gate(tmp_path)

        def until_refused(period: int, **labels: str) -> int:
            task = guard.task("t", labels=labels)
            for at in range(100):
                verdict = task.admit("look", {"n": at % period})
                if not verdict.allowed:
                    assert verdict.reasons == ("cycle",)
                    return at
                task.observe(verdict.call_id, result=at % period)
            return 100

        assert (until_refused(2), until_refused(2, hurry="yes")) == (8, 4)
        assert (until_refused(3), until_refused(3, hurry="yes")) == (12, 12)

    def test_a_note_of_either_is_given_once(self, tmp_path: Path) -> None:
        policy(tmp_path, "a", detectors={"exact_repeat": {"note_after": 2, "refuse_after": 9}})
        policy(tmp_path, "b", detectors={"exact_repeat": {"note_after": 3, "refuse_after": 9}})
        binding(tmp_path, "a", "a")
        binding(tmp_path, "b", "b")
        task = gate(tmp_path).task("t")
        told = []
        for _ in range(3):
            verdict = task.admit("look", {})
            told.append([note.reason for note in task.observe(verdict.call_id, result=1).notes])
        assert told == [[], ["exact_repeat"], ["exact_repeat"]]

    def test_a_stop_of_one_stops_the_task_for_all(self, tmp_path: Path) -> None:
        ladder = {"stop_after_refusals": 1}
        policy(tmp_path, "a", detectors=REPEAT, ladder=ladder)
        policy(tmp_path, "b", detectors=REPEAT)
        binding(tmp_path, "a", "a")
        binding(tmp_path, "b", "b")
        task = gate(tmp_path).task("t")
        assert actions(repeat(task, 5)) == "aaars"
        assert task.stop is not None and task.stop.reason == "exact_repeat"

    def test_a_batch_is_all_or_nothing_where_one_of_them_says_so(self, tmp_path: Path) -> None:
        policy(tmp_path, "a", budgets={"tool_calls": 2, "batch": "all_or_nothing"})
        policy(tmp_path, "b")
        binding(tmp_path, "a", "a")
        binding(tmp_path, "b", "b")
        task = gate(tmp_path).task("t")
        verdicts = task.admit_all([{"tool": "look", "arguments": {"n": n}} for n in range(3)])
        assert [verdict.reasons for verdict in verdicts] == [("budget_tool_calls",)] * 3
        assert actions(task.admit_all([{"tool": "look", "arguments": {"n": n}} for n in range(2)])) == "aa"

    def test_a_child_owns_a_part_by_each_policy_s_own_share(self, tmp_path: Path) -> None:
        policy(tmp_path, "a", budgets={"tool_calls": 10, "children": {"own": 0.2}})
        policy(tmp_path, "b", budgets={"tool_calls": 8, "depth": 1})
        binding(tmp_path, "a", "a")
        binding(tmp_path, "b", "b")
        task = gate(tmp_path).task("t")
        child = task.child("c")
        assert [child.admit("look", {"n": n}).allowed for n in range(3)] == [True, True, False]
        with pytest.raises(SpawnError) as caught:
            child.child("d")
        assert caught.value.reason == "budget_depth"
        assert [task.admit("look", {"m": n}).allowed for n in range(7)] == [True] * 6 + [False]


class TestModes:
    def test_a_weaker_mode_needs_a_rollout_and_every_verdict_shows_it(self, tmp_path: Path) -> None:
        policy(tmp_path, detectors=REPEAT)
        binding(tmp_path, "b", mode="warn")
        assert codes(tmp_path) == ["CG720"]
        binding(tmp_path, "b", mode="warn", rollout=True)
        verdicts = repeat(gate(tmp_path).task("t"), 4)
        assert actions(verdicts) == "aaaa"
        assert [verdict.bindings for verdict in verdicts] == [(("b", "p", "warn", True),)] * 4
        assert (verdicts[3].would, verdicts[3].reasons) == ("refuse", ("exact_repeat",))

    def test_a_stricter_mode_needs_none(self, tmp_path: Path) -> None:
        policy(tmp_path, mode="audit", detectors=REPEAT)
        binding(tmp_path, "b", mode="enforce")
        assert actions(repeat(gate(tmp_path).task("t"), 4)) == "aaar"

    def test_what_is_rolled_out_neither_refuses_nor_climbs_beside_one_that_enforces(self, tmp_path: Path) -> None:
        ladder = {"stop_after_refusals": 1}
        policy(tmp_path, "new", detectors={"exact_repeat": {"note_after": 1, "refuse_after": 1}}, ladder=ladder)
        policy(tmp_path, "old", detectors={"exact_repeat": {"note_after": 4, "refuse_after": 4}}, ladder=ladder)
        binding(tmp_path, "new", "new", mode="audit", rollout=True)
        binding(tmp_path, "old", "old")
        verdicts = repeat(gate(tmp_path).task("t"), 6)
        # the refusals that `new` would have made count for no stop of `old`: its first refusal is a refusal
        assert actions(verdicts) == "aaaars"
        assert [verdict.would for verdict in verdicts] == [None, "refuse", "refuse", "refuse", None, None]
        assert [len(verdict.notes) for verdict in verdicts] == [0] * 6

    def test_where_nothing_is_enforced_the_ladder_climbs_by_what_would_have_happened(self, tmp_path: Path) -> None:
        policy(tmp_path, detectors=REPEAT, ladder={"stop_after_refusals": 1})
        binding(tmp_path, "b", mode="warn", rollout=True)
        would = [verdict.would for verdict in repeat(gate(tmp_path).task("t"), 5)]
        assert would == [None, None, None, "refuse", "stop"]

    def test_the_code_and_reply_are_of_what_holds(self, tmp_path: Path) -> None:
        stops = {"id": "halt", "when": "true", "action": "stop", "code": "HALT"}
        refuses = {"id": "no", "when": "true", "action": "refuse", "code": "NO"}
        policy(tmp_path, "new", rules=[stops])
        policy(tmp_path, "old", rules=[refuses])
        binding(tmp_path, "new", "new", mode="warn", rollout=True)
        binding(tmp_path, "old", "old")
        task = gate(tmp_path).task("t")
        verdict = task.admit("look", {})
        assert (verdict.action, verdict.would, verdict.code) == ("refuse", "stop", "NO")
        assert verdict.reasons == ("rule:halt", "rule:no")
        assert task.stop is None

    def test_an_exit_of_what_is_rolled_out_is_a_note(self, tmp_path: Path) -> None:
        ends = {"id": "end", "phase": "observe", "when": "true", "action": "exit"}
        policy(tmp_path, "new", rules=[ends], detectors={"no_gain": {"towards": "task", "exit_after": 1}})
        policy(tmp_path, "old")
        binding(tmp_path, "new", "new", mode="warn", rollout=True)
        binding(tmp_path, "old", "old")
        task = gate(tmp_path).task("t")
        for _ in range(2):
            verdict = task.admit("look", {})
            assessment = task.observe(verdict.call_id, result=1)
        assert (task.stop, [note.reason for note in assessment.notes]) == (None, ["no_gain", "rule:end"])


class TestParameters:
    def test_a_binding_sets_what_rules_read(self, tmp_path: Path) -> None:
        policy(tmp_path, parameters=CEILING, rules=[OVER])
        binding(tmp_path, "small", match={"tenants": ["small"]}, parameters={"ceiling": 10})
        binding(tmp_path, "large", match={"tenants": ["large"]}, parameters={"ceiling": 1000})
        guard = gate(tmp_path)
        told = {
            tenant: guard.task("t", tenant=tenant).admit("pay", {"amount": 100}).action for tenant in ("small", "large")
        }
        assert told == {"small": "refuse", "large": "allow"}

    def test_a_parameter_without_a_default_is_an_error_until_every_binding_sets_it(self, tmp_path: Path) -> None:
        policy(tmp_path, parameters=CEILING, rules=[OVER])
        assert codes(tmp_path) == ["CG440"]
        binding(tmp_path, "a", parameters={"ceiling": 10})
        binding(tmp_path, "b")
        with pytest.raises(PolicyError) as caught:
            gate(tmp_path)
        (found,) = errors(caught.value)
        assert (found.code, Path(found.file).name) == ("CG440", "GuardBinding-b.yaml")
        assert found.message == "nothing gives the parameter `ceiling` a value"
        binding(tmp_path, "b", parameters={"ceiling": 20})
        assert gate(tmp_path).task("t").admit("pay", {"amount": 15}).action == "refuse"

    def test_a_default_stands_where_a_binding_says_nothing(self, tmp_path: Path) -> None:
        policy(tmp_path, parameters={"ceiling": {"type": "number", "default": 50}}, rules=[OVER])
        binding(tmp_path, "b")
        task = gate(tmp_path).task("t")
        assert [task.admit("pay", {"amount": amount}).action for amount in (50, 51)] == ["allow", "refuse"]

    def test_a_value_that_the_schema_does_not_take_is_an_error_at_the_binding(self, tmp_path: Path) -> None:
        policy(tmp_path, parameters=CEILING, rules=[OVER])
        binding(tmp_path, "b", parameters={"ceiling": -1})
        with pytest.raises(PolicyError) as caught:
            gate(tmp_path)
        (found,) = errors(caught.value)
        assert (found.code, Path(found.file).name, found.pointer) == (
            "CG441", "GuardBinding-b.yaml", "/spec/parameters/ceiling",
        )  # fmt: skip
        assert found.message.startswith("the parameter `ceiling` does not take this value: ")

    def test_an_unknown_parameter_is_an_error_with_the_nearest_name(self, tmp_path: Path) -> None:
        policy(tmp_path, parameters={"ceiling": {"type": "number", "default": 50}}, rules=[OVER])
        binding(tmp_path, "b", parameters={"cieling": 5})
        with pytest.raises(PolicyError) as caught:
            gate(tmp_path)
        (found,) = errors(caught.value)
        assert (found.code, found.message) == ("CG721", "the policy `p` has no parameter `cieling`")
        assert found.hint == "did you mean `ceiling`?"

    def test_a_map_replaces_the_default_and_does_not_mix_with_it(self, tmp_path: Path) -> None:
        rule = {"id": "r", "when": '"b" in params.known', "action": "refuse"}
        policy(tmp_path, parameters={"known": {"type": "object", "default": {"b": 1}}}, rules=[rule])
        binding(tmp_path, "set", match={"tenants": ["acme"]}, parameters={"known": {"a": 1}})
        binding(tmp_path, "not", match={"tenants": ["zeta"]})
        guard = gate(tmp_path)
        told = [guard.task("t", tenant=tenant).admit("look", {}).action for tenant in ("acme", "zeta")]
        assert told == ["allow", "refuse"]


def test_a_binding_of_an_unknown_policy_is_an_error_with_the_nearest_name(tmp_path: Path) -> None:
    policy(tmp_path, "procurement")
    binding(tmp_path, "b", "procurment")
    with pytest.raises(PolicyError) as caught:
        gate(tmp_path)
    (found,) = errors(caught.value)
    assert (found.code, found.hint) == ("CG704", "did you mean `procurement`?")


def test_a_locked_mode_stays_even_in_a_rollout(tmp_path: Path) -> None:
    policy(tmp_path, mode="enforce", locked=["mode"])
    binding(tmp_path, "b", mode="warn", rollout=True)
    assert codes(tmp_path) == ["CG707"]


def test_a_named_policy_is_judged_by_itself(tmp_path: Path) -> None:
    policy(tmp_path)
    binding(tmp_path, "acme", match={"tenants": ["acme"]})
    assert gate(tmp_path, policy="p").task("t").admit("look", {}).allowed


def test_a_snapshot_goes_on_under_the_same_bindings_and_no_others(tmp_path: Path) -> None:
    policy(tmp_path, "a", detectors=REPEAT)
    policy(tmp_path, "b", detectors={"cycle": {"laps": 5}})
    binding(tmp_path, "a", "a")
    binding(tmp_path, "b", "b", match={"tenants": ["acme"]})
    task = gate(tmp_path).task("t", tenant="acme")
    repeat(task, 3)
    resumed = gate(tmp_path).resume(task.snapshot())
    assert actions(repeat(resumed, 1)) == "r"
    binding(tmp_path, "b", "b", match={"tenants": ["zeta"]})
    with pytest.raises(ValueError, match="another policy"):
        gate(tmp_path).resume(task.snapshot())
