"""Bindings and exceptions through the commands: check, its resolved view, policy tests, replay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bound_folder import REPEAT, binding, exception, policy, write
from callgate.cli.main import main
from callgate.policy.check import check
from callgate.policy.load import load

ASK = {"id": "pay-asks", "tools": ["pay"], "when": "true", "action": "ask"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str]:
    code = main(argv)
    out, err = capsys.readouterr()
    assert "internal error" not in err
    return code, out or err


class TestCheck:
    def test_an_exception_that_stands_is_tallied_and_an_expired_one_fails(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        policy(folder)
        exception(folder, "polls", ["exact_repeat", "cycle"])
        code, out = run(capsys, "check", ".", "--now", "2027-01-31T23:59:59Z")
        assert (code, out.splitlines()[0]) == (
            0,
            "exception polls lifts exact_repeat, cycle of p until 2027-01-31 (ops)",
        )
        code, out = run(capsys, "check", ".", "--now", "2027-02-01T00:00:00Z")
        assert (code, out.splitlines()[0]) == (1, "error[CG723]: the exception has expired on 2027-01-31")
        assert "exception polls lifts" not in out

    def test_json_lists_what_stands(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        policy(folder)
        exception(folder, "polls", ["exact_repeat"])
        _, out = run(capsys, "check", ".", "--now", "2027-01-01T00:00:00Z", "--format", "json")
        assert json.loads(out)["exceptions"] == [
            {"name": "polls", "policy": "p", "lifts": ["exact_repeat"], "owner": "ops", "expires": "2027-01-31"}
        ]

    def test_a_now_that_is_no_time_is_a_wrong_command(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        policy(folder)
        assert run(capsys, "check", ".", "--now", "tomorrow") == (
            2, "callgate: `--now`: `tomorrow` is neither a date nor a time in UTC, such as 2027-01-31T18:00:00Z\n"
        )  # fmt: skip

    def test_the_resolved_view_shows_the_policy_under_each_binding(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        policy(folder, parameters={"ceiling": {"type": "number", "default": 50}}, mode="audit")
        binding(folder, "b", mode="enforce", parameters={"ceiling": 7})
        code, out = run(capsys, "check", ".", "--resolved")
        own, under = out.split("---\n")
        assert code == 0
        assert "under the binding" not in own and "default: 50" in own
        lines = {line.split("  # ")[0].rstrip(): line.rpartition("# ")[2] for line in under.splitlines()}
        assert "# under the binding b" in under.splitlines()
        assert lines["      default: 7"].startswith("GuardBinding-b.yaml:")
        assert lines["  mode: enforce"].startswith("GuardBinding-b.yaml:")
        assert lines["      type: number"].startswith("GuardPolicy-p.yaml:")

    def test_a_fault_of_an_expression_is_told_once_however_many_bindings_there_are(self, folder: Path) -> None:
        policy(folder, rules=[{**ASK, "when": "args.amount > limit"}])
        binding(folder, "a")
        binding(folder, "b")
        assert [found.code for found in check(load([folder])) if found.severity == "error"] == ["CG305"]

    def test_an_expired_exception_is_no_fault_for_whoever_only_loads(self, folder: Path) -> None:
        policy(folder)
        exception(folder, "old", ["cycle"], expires="2001-01-01")
        assert check(load([folder])) == []


def guard_test(folder: Path, name: str, **spec: Any) -> None:
    write(folder, "GuardTest", name, spec)
    (folder / f"GuardTest-{name}.yaml").rename(folder / f"{name}_test.yaml")


class TestPolicyTests:
    def steps(self, action: str, **more: Any) -> dict[str, Any]:
        return {"steps": [{"tool": "pay", "arguments": {}, "expect": {"action": action}, **more}]}

    def test_without_a_policy_the_bindings_around_the_test_say_which(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        policy(folder / "a", rules=[ASK])
        binding(folder / "a", "b", match={"tenants": ["acme"], "labels": {"env": "prod"}})
        binding(folder / "other", "elsewhere", match={})
        guard_test(folder / "a" / "tests", "asks", tenant="acme", labels={"env": "prod"}, **self.steps("ask"))
        guard_test(folder / "a" / "tests", "nobody", tenant="acme", **self.steps("refuse"))
        code, out = run(capsys, "test", ".")
        assert (code, "2 passed" in out) == (0, True), out

    def test_the_agent_of_a_step_is_matched(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        policy(folder, rules=[ASK])
        binding(folder, "b", match={"agents": ["worker"]})
        guard_test(folder, "worker", **self.steps("ask", agent="worker"))
        guard_test(folder, "root", **self.steps("refuse"))
        code, out = run(capsys, "test", ".")
        assert (code, "2 passed" in out) == (0, True), out

    def test_exceptions_stand_only_in_a_run_that_says_when_it_began(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        policy(folder, rules=[ASK])
        exception(folder, "x", ["rule:pay-asks"])
        guard_test(folder, "undated", policy="p", **self.steps("ask"))
        guard_test(folder, "in-time", policy="p", began="2027-01-31T23:00:00Z", **self.steps("allow"))
        guard_test(folder, "too-late", policy="p", began="2027-01-31T23:00:00Z", **self.steps("ask", time="1h"))
        code, out = run(capsys, "test", ".")
        assert (code, "3 passed" in out) == (0, True), out

    def test_without_policy_and_bindings_it_is_an_error(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        policy(folder)
        guard_test(folder, "none", **self.steps("allow"))
        code, out = run(capsys, "test", ".")
        assert (code, "CG711" in out) == (1, True), out


class TestReplay:
    def trace(self, folder: Path, *first: dict[str, Any]) -> str:
        call = {"tool": "pay", "arguments": {}, "result": 1}
        lines = [{"session": f"s{at}", **call, **more} for at, more in enumerate(first)]
        (folder / "trace.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        return str(folder / "trace.jsonl")

    def test_tenant_and_labels_of_the_first_record_are_matched(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        policy(folder / "p", rules=[ASK])
        binding(folder / "p", "b", match={"tenants": ["acme"], "labels": {"env": "prod"}}, mode="warn", rollout=True)
        told = [{"tenant": "acme", "labels": {"env": "prod"}}, {"tenant": "acme"}, {}]
        trace = self.trace(folder, *told)
        code, out = run(capsys, "replay", trace, "--policy", "p", "--format", "json", "--decisions", "d.jsonl")
        counts = json.loads(out)["total"]
        assert (code, counts["asks"], counts["refusals"]) == (0, {"rule:pay-asks": 1}, {"unbound": 2})
        rows = [json.loads(line) for line in (folder / "d.jsonl").read_text().splitlines()]
        assert [row["bindings"] for row in rows] == [
            [{"binding": "b", "policy": "p", "mode": "warn", "rollout": True}], [], [],
        ]  # fmt: skip

    def test_what_is_lifted_is_tallied_in_text_and_json(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        policy(folder / "p", rules=[ASK], detectors=REPEAT)
        exception(folder / "p", "x", ["rule:pay-asks"])
        trace = self.trace(folder, {}, {"began": "2027-01-31T23:59:59Z"}, {"began": 1_801_440_000})
        arguments = ("replay", trace, "--policy", "p", "--now", "2026-06-01T00:00:00Z")
        code, out = run(capsys, *arguments, "--format", "json", "--decisions", "d.jsonl")
        assert (code, json.loads(out)["total"]["lifted"]) == (0, {"x": {"rule:pay-asks": 2}})
        rows = [json.loads(line) for line in (folder / "d.jsonl").read_text().splitlines()]
        lifted = [{"exception": "x", "reason": "rule:pay-asks"}]
        assert [(row["action"], row["lifted"]) for row in rows] == [("allow", lifted), ("allow", lifted), ("ask", [])]
        assert "                   2  rule:pay-asks by x\n" in run(capsys, *arguments)[1]
        late = run(capsys, "replay", trace, "--policy", "p", "--now", "2027-03-01T00:00:00Z", "--format", "json")[1]
        assert json.loads(late)["total"]["lifted"] == {"x": {"rule:pay-asks": 1}}

    @pytest.mark.parametrize(
        ("more", "why"),
        [
            ({"labels": ["a"]}, "`labels` is no JSON object of texts"),
            ({"labels": {"a": 1}}, "`labels` is no JSON object of texts"),
            ({"tenant": 1}, "`tenant` is no text"),
            ({"began": "2027-01-31"}, "`began` is no moment such as `2027-01-31T18:00:00Z`"),
        ],
    )
    def test_a_record_that_says_it_wrongly_is_a_broken_line(
        self, folder: Path, capsys: pytest.CaptureFixture[str], more: dict[str, Any], why: str
    ) -> None:
        policy(folder / "p")
        main(["replay", self.trace(folder, more), "--policy", "p"])
        assert f"{why}: skipped" in capsys.readouterr().err
