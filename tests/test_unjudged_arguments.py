"""Arguments without a JSON form: never run in `enforce`, whatever is lifted, and handed over untouched elsewhere."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from bound_folder import exception, gate, policy, write

DAY = {"day": date(2027, 1, 15)}
ODD: list[Any] = [DAY, ["day"], "day", None, {1: "day"}]


@pytest.mark.parametrize("arguments", ODD, ids=str)
def test_no_exception_lets_them_run(tmp_path: Path, arguments: Any) -> None:
    policy(tmp_path)
    exception(tmp_path, "x", ["invalid_arguments"])
    verdict = gate(tmp_path).task("t").admit("look", arguments)
    assert (verdict.action, verdict.reasons, verdict.lifted) == ("refuse", ("invalid_arguments",), ())


def test_what_a_schema_does_not_take_is_lifted_still(tmp_path: Path) -> None:
    policy(tmp_path, tools=["t", "more"])
    tool = {"effect": "read", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}}
    write(tmp_path, "ToolManifest", "more", {"tools": {"count": tool}})
    exception(tmp_path, "x", ["invalid_arguments"])
    verdict = gate(tmp_path).task("t").admit("count", {"n": "two"})
    assert (verdict.allowed, verdict.lifted) == (True, (("x", "invalid_arguments"),))


@pytest.mark.parametrize("mode", ["warn", "audit"])
@pytest.mark.parametrize("arguments", ODD, ids=str)
def test_where_nothing_is_enforced_the_tool_gets_what_came_in(tmp_path: Path, mode: str, arguments: Any) -> None:
    policy(tmp_path, mode=mode)
    task = gate(tmp_path).task("t")
    alone = task.admit("look", arguments)
    (together,) = task.admit_all([{"tool": "look", "arguments": arguments}])
    for verdict in (alone, together):
        assert (verdict.allowed, verdict.reasons) == (True, ("invalid_arguments",))
        assert verdict.arguments is arguments


@pytest.mark.parametrize("first", [0, 1])
def test_in_a_batch_a_call_without_arguments_is_another_call(tmp_path: Path, first: int) -> None:
    policy(tmp_path)
    calls = [{"tool": "look", "arguments": {}}, {"tool": "look", "arguments": DAY}]
    verdicts = gate(tmp_path).task("t").admit_all(calls if first == 0 else calls[::-1])
    found = {verdict.action: verdict.reasons for verdict in verdicts}
    assert found == {"allow": (), "refuse": ("invalid_arguments",)}


@pytest.mark.parametrize("text", ['{"day": 1}', "day", ""])
def test_arguments_that_are_still_text_are_told_to_be_parsed_first(tmp_path: Path, text: Any) -> None:
    policy(tmp_path)
    task = gate(tmp_path).task("t")
    alone, (together,) = task.admit("look", text), task.admit_all([{"tool": "look", "arguments": text}])
    told = "`arguments` is a text, and a map from names is wanted: JSON has to be parsed first"
    for verdict in (alone, together):
        assert (verdict.action, verdict.reasons) == ("refuse", ("invalid_arguments",))
        assert told in verdict.findings[0].message
        assert told in (verdict.reply or "")


def test_in_a_batch_each_fault_is_told(tmp_path: Path) -> None:
    policy(tmp_path)
    calls = [{"tool": "look", "arguments": {name: {1, 2}}} for name in ("one", "two")]
    verdicts = gate(tmp_path).task("t").admit_all(calls)
    assert [verdict.action for verdict in verdicts] == ["refuse", "refuse"]
    assert ["one" in (verdicts[0].reply or ""), "two" in (verdicts[1].reply or "")] == [True, True]


def test_ever_new_faults_of_a_tool_are_one_incident(tmp_path: Path) -> None:
    policy(tmp_path, ladder={"deterministic_stop_after": 2})
    task = gate(tmp_path).task("t")
    actions = [task.admit("look", {f"n{number}": {number}}).action for number in range(3)]
    assert actions == ["refuse", "refuse", "stop"]
