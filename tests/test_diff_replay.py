"""Recorded sessions under two policies: what flips, where each session parts first, and what cannot be replayed."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from callgate import _core
from callgate.cli.main import main
from callgate.review.divergence import Divergence, Moment, Timeline, Verdict, diverge
from callgate.review.sides import side_of
from callgate.traces.replay import replay_file

COMMAND = "import sys; from callgate.cli.main import main; sys.exit(main())"
HEAD = "apiVersion: callgate/v1\nkind: GuardPolicy\nmetadata: {name: p}\nspec:\n"
LOOSE = HEAD + "  budgets: {steps: 100, tokens: 100000}\n  time: {task: 1h}\n"
FOUR = LOOSE.replace("steps: 100", "steps: 100, tool_calls: 4")
ASKS = LOOSE + "  rules:\n    - {id: pay, tools: [pay], when: 'true', action: ask}\n"


def compiled(folder: Path, name: str, text: str) -> _core.CompiledPolicy:
    (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    found = side_of(str(folder / f"{name}.yaml"))
    policy = found.compiled()
    assert policy is not None, found.diagnostics
    return policy


def trace(folder: Path, records: list[dict[str, Any]], name: str = "t.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def calls(session: str, count: int, tool: str = "look", **more: Any) -> list[dict[str, Any]]:
    return [{"session": session, "tool": tool, "arguments": {"n": n}, "result": {"n": n}, **more} for n in range(count)]


def told(found: Divergence) -> dict[str, Any]:
    """What stands in a divergence besides timelines, as plain numbers."""
    return {
        "calls": found.new.calls,
        "flips": dict(found.flips),
        "refused": (found.refused.calls, dict(found.refused.by_reason), dict(found.refused.by_tool)),
        "passed": (found.passed.calls, dict(found.passed.by_reason), dict(found.passed.by_tool)),
        "saved": found.saved,
        "diverged": found.diverged,
        "behind": found.behind,
    }


def test_what_is_newly_refused_is_counted_by_reason_and_tool(tmp_path: Path):
    path = trace(tmp_path, [*calls("a", 6), *calls("b", 3), *calls("c", 5, "scan")])
    found = diverge(compiled(tmp_path, "old", LOOSE), compiled(tmp_path, "new", FOUR), [path])
    # of `a` two calls are beyond the four, of `c` one; one of them follows the first of its session
    assert told(found) == {
        "calls": 14,
        "flips": {("allow", "refuse"): 3},
        "refused": (3, {"budget_tool_calls": 3}, {"look": 2, "scan": 1}),
        "passed": (0, {}, {}),
        "saved": 3,
        "diverged": 2,
        "behind": 1,
    }


def test_the_other_way_round_the_same_calls_are_newly_let_through(tmp_path: Path):
    path = trace(tmp_path, [*calls("a", 6), *calls("b", 3)])
    found = diverge(compiled(tmp_path, "old", FOUR), compiled(tmp_path, "new", LOOSE), [path])
    assert told(found) == {
        "calls": 9,
        "flips": {("refuse", "allow"): 2},
        "refused": (0, {}, {}),
        "passed": (2, {"budget_tool_calls": 2}, {"look": 2}),
        "saved": -2,
        "diverged": 1,
        "behind": 1,
    }


def test_the_first_divergence_comes_with_the_calls_before_it(tmp_path: Path):
    path = trace(tmp_path, calls("a", 6, agent="clerk", time=7.0))
    found = diverge(compiled(tmp_path, "old", LOOSE), compiled(tmp_path, "new", FOUR), [path])
    (timeline,) = found.timelines
    ran = Verdict("allow", "", None, False, "sufficient", ())
    held = Verdict("refuse", "budget_tool_calls", "the budget of tool calls is used up (4 of 4 used)", False, None, ())
    assert timeline.moments[-1] == Moment(5, "look", '{"n":4}', ran, held)
    assert timeline[:4] == (str(path), "a", "clerk", 7.0)
    assert [(moment.seq, moment.old.action, moment.new.action) for moment in timeline.moments[:-1]] == [
        (1, "allow", "allow"), (2, "allow", "allow"), (3, "allow", "allow"), (4, "allow", "allow"),
    ]  # fmt: skip
    assert isinstance(timeline, Timeline)


def test_equal_policies_differ_in_nothing(tmp_path: Path):
    path = trace(tmp_path, [*calls("a", 12), *calls("a", 3, "same", result={"x": 1})])
    old, new = side_of("default").compiled(), side_of("default").compiled()
    assert old is not None
    assert new is not None
    found = diverge(old, new, [path])
    assert (found.flipped, found.other_reason, found.diverged, found.behind) == (0, 0, 0, 0)
    assert found.timelines == []
    assert found.old == found.new


def test_what_cannot_be_replayed_has_its_own_place(tmp_path: Path):
    path = trace(tmp_path, [
        {"session": "a", "tool": "pay", "arguments": {"n": 1}},
        {"session": "a", "seq": 9, "tool": "pay", "arguments": {"n": 2}, "result": "ok"},
        {"session": "a", "seq": 8, "tool": "pay", "arguments": {"n": 3}, "result": "ok"},
        {"session": "a", "tool": "look"},
        {"session": "b", "event": "nap"},
    ])  # fmt: skip
    with path.open("a", encoding="utf-8") as file:
        file.write("{no JSON}\n")
    found = diverge(compiled(tmp_path, "old", LOOSE), compiled(tmp_path, "new", ASKS), [path])
    # the first call is asked about, and nobody is known to have answered; the second had a result: it was approved
    assert found.flips == {("allow", "ask"): 2}
    assert (found.unanswered, found.without_outcome, found.unmatched) == (1, 1, 0)
    assert {why: count for why, count in found.skipped.items() if "seq" in why or "nap" in why or "missing" in why} == {
        "`seq` … does not rise after … in a session": 1,
        "`arguments` is missing": 1,
        "`nap` is no event": 1,
    }
    assert found.skipped.total() == 4
    assert found.new.calls == 2


def test_a_file_that_breaks_off_is_judged_as_far_as_it_goes(tmp_path: Path):
    records = calls("a", 3000, pad="x" * 1000)
    whole = gzip.compress("".join(json.dumps(record) + "\n" for record in records).encode(), compresslevel=0)
    (tmp_path / "t.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    policy = compiled(tmp_path, "old", LOOSE)
    found = diverge(policy, policy, [tmp_path / "t.jsonl.gz"])
    assert found.broken == {str(tmp_path / "t.jsonl.gz"): "the file is cut off: its gzip stream has no end"}
    assert 0 < found.new.calls < 3000


def test_tokens_spent_after_a_stop_that_is_new_are_estimated(tmp_path: Path):
    stops = LOOSE + "  rules:\n    - {id: enough, tools: [look], when: 'args.n >= 2', action: stop}\n"
    usage = {"session": "a", "event": "model_usage", "tokens": 100, "cost": 0.5}
    one_by_one = [record for call in calls("a", 4) for record in (call, usage)]
    found = diverge(compiled(tmp_path, "old", LOOSE), compiled(tmp_path, "new", stops), [trace(tmp_path, one_by_one)])
    # stopped at the third call: the usage behind it and behind the fourth would not have been
    assert (found.tokens, found.cost) == ((400.0, 200.0, 0.0), (2.0, 1.0, 0.0))


def test_sessions_of_different_files_are_different_sessions(tmp_path: Path):
    paths = [trace(tmp_path, calls("a", 3), f"{name}.jsonl") for name in "xy"]
    found = diverge(compiled(tmp_path, "old", LOOSE), compiled(tmp_path, "new", FOUR), paths)
    assert (found.new.sessions, found.new.calls, found.flipped) == (2, 6, 0)


def added_up(found: Divergence) -> Counter[str]:
    """How often each action came under the old policy, with the flips laid over it."""
    counted = Counter(
        {action: sum(found.old.of_action(action).values()) for action in ("reuse", "ask", "refuse", "stop")}
    )
    for (old, new), count in found.flips.items():
        counted[old] -= count
        counted[new] += count
    for (_, ends), count in found.ends.items():
        counted["stop"] += count if ends else -count
    del counted["allow"]
    return counted


@pytest.mark.slow
def test_on_real_runs_old_and_flips_make_new_and_the_second_time_is_the_same(shared: Path, tmp_path: Path):
    path = shared / "traces" / "mini_swe_gemini3pro.jsonl.gz"
    tight = HEAD + (
        "  extends: [default]\n  budgets: {steps: 60}\n"
        "  detectors: {exact_repeat: {refuse_after: 2}, cycle: {laps: 2}, consecutive: {refuse_after: 3}}\n"
    )
    old, new = side_of("default").compiled(), compiled(tmp_path, "tight", tight)
    assert old is not None
    found = diverge(old, new, [path])
    alone = [replay_file(policy, path).counts for policy in (old, new)]
    assert [found.old, found.new] == alone
    now = Counter({action: sum(found.new.of_action(action).values()) for action in ("reuse", "ask", "refuse", "stop")})
    assert added_up(found) == now
    assert found.flipped > 0
    assert found.refused.calls == found.refused.by_reason.total() == found.refused.by_tool.total()
    assert found.unmatched == 0
    assert diverge(old, new, [path]) == found


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "wait4"), reason="this system does not tell how much memory a child took")
def test_memory_does_not_grow_with_the_trace(tmp_path: Path):
    compiled(tmp_path, "loose", LOOSE)
    compiled(tmp_path, "four", FOUR)

    def peak(sessions: int) -> int:
        path = tmp_path / f"{sessions}.jsonl"
        with path.open("w", encoding="utf-8") as lines:
            for number in range(sessions):
                lines.writelines(json.dumps(record) + "\n" for record in calls(f"s{number}", 10))
        command = [sys.executable, "-c", COMMAND, "diff", "loose.yaml", "four.yaml", "--format", "json"]
        command += ["--open-sessions", "20", "--traces", str(path)]
        with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL) as child:
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        assert child.returncode == 0
        return used.ru_maxrss

    # both are more than one chunk of the file, of which all that differs is in memory at once
    assert peak(6_000) < 1.2 * peak(2_000)


def test_the_command_tells_all_of_it_in_each_format_the_same_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    compiled(tmp_path, "old", LOOSE), compiled(tmp_path, "new", FOUR)
    trace(tmp_path, [*calls("a", 6), *calls("b", 3)])
    for form in ("text", "json", "markdown"):
        printed = []
        for _ in range(2):
            assert main(["diff", "old.yaml", "new.yaml", "--traces", "t.jsonl", "--format", form]) == 0
            printed.append(capsys.readouterr().out)
        assert printed[0] == printed[1]
        assert "budget_tool_calls" in printed[0]
        if form == "json":
            found = json.loads(printed[0])["replay"]
            assert found["flips"] == [{"old": "allow", "new": "refuse", "calls": 2}]
            assert found["newly_refused"] == {
                "calls": 2, "by_reason": {"budget_tool_calls": 2}, "by_tool": {"look": 2}, "by_agent": {"root": 2},
            }  # fmt: skip
            assert found["saved"] == {"calls": 2, "tokens": None, "cost": None}
            assert [moment["seq"] for moment in found["first_divergences"][0]["moments"]] == [1, 2, 3, 4, 5]
            assert all(one["seq"] + 1 == two["seq"] for one, two in pairwise(found["first_divergences"][0]["moments"]))


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [
        ("", 3, "there is no record in these traces"),
        ("[{}]\n", 2, "this is one JSON list"),
        (None, 2, "no such file or directory"),
    ],
)
def test_traces_that_cannot_be_read_have_their_exit_codes(
    content: str | None, code: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    if content is not None:
        (tmp_path / "t.jsonl").write_text(content, encoding="utf-8")
    assert main(["diff", "default", "strict", "--traces", str(tmp_path / "t.jsonl")]) == code
    assert said in capsys.readouterr().err


def test_several_policies_without_a_binding_cannot_judge_a_session(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "both").mkdir()
    compiled(tmp_path / "both", "a", LOOSE), compiled(tmp_path / "both", "b", FOUR.replace("{name: p}", "{name: q}"))
    path = trace(tmp_path, calls("a", 1))
    assert main(["diff", str(tmp_path / "both"), "default", "--traces", str(path)]) == 2
    assert "holds several policies and no binding (`p`, `q`)" in capsys.readouterr().err
