"""Looking through message lists: what is found in broken ones, and that healthy ones are left alone."""

import re
from pathlib import Path
from typing import Any

import pytest

from callgate import Gate
from callgate.messages import KINDS, LOST, Finding, MessageError, inspect
from callgate.messages.arguments import read_arguments
from callgate.messages.results import how_weak
from message_lists import BROKEN, HEALTHY, RESPONSES, asked, model, result, said, told, use, user


def found(messages: list[Any], **options: Any) -> list[tuple[str, int, str | None]]:
    return [(each.kind, each.index, each.call_id) for each in inspect(messages, **options)]


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_list_has_exactly_these_findings(name: str) -> None:
    broken = BROKEN[name]
    assert found(broken.messages, shape=broken.shape) == broken.findings


@pytest.mark.parametrize("name", BROKEN)
def test_the_shape_is_told_by_the_list_itself(name: str) -> None:
    broken = BROKEN[name]
    assert found(broken.messages) == broken.findings


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_list_has_no_finding(name: str) -> None:
    shape, messages = HEALTHY[name]
    assert found(messages) == found(messages, shape=shape) == []


def test_every_kind_is_found_in_one_of_the_lists() -> None:
    assert {kind for broken in BROKEN.values() for kind, _, _ in broken.findings} == set(KINDS)


def test_the_page_has_every_kind_with_its_severity(root: Path) -> None:
    page = (root / "docs" / "messages.md").read_text(encoding="utf-8")
    written = dict(re.findall(r"^\| `(\w+)` \| (error|warning)\b", page, re.MULTILINE))
    findings = [each for broken in BROKEN.values() if broken.shape != RESPONSES for each in inspect(broken.messages)]
    assert written == {each.kind: each.severity for each in findings}
    assert list(written) == list(KINDS)


def test_a_finding_says_what_is_wrong_and_what_to_do() -> None:
    assert inspect(BROKEN["the result carries an id of its own"].messages) == [
        Finding(
            kind="mismatched_id",
            severity="error",
            index=2,
            call_id="run-1",
            message="the result is for `run-1`, and the call of `run` before it is `call_9f`",
            hint="give the result the id of its call; as it is, the model does not see it",
            related=1,
        )
    ]


def test_an_open_turn_may_wait_for_its_results() -> None:
    messages = BROKEN["the list ends with an open call"].messages
    assert found(messages, open_turn=True) == []
    assert found([*messages, said("Well?")], open_turn=True) == [("missing_result", 1, "t1")]


def test_objects_of_a_library_are_read_by_what_they_dump() -> None:
    class Block:
        def __init__(self, data: dict[str, Any]) -> None:
            self.data = data

        def model_dump(self, *, mode: str, exclude_none: bool) -> dict[str, Any]:
            return {key: value for key, value in self.data.items() if value is not None or not exclude_none}

    block = Block({"type": "tool_use", "id": "t1", "name": "run", "input": {}, "caller": None})
    assert found([said("Go."), {"role": "assistant", "content": [block]}]) == [("missing_result", 1, "t1")]
    message = Block({"role": "assistant", "tool_calls": asked(("c1", "run", "{}"))["tool_calls"], "audio": None})
    assert found([said("Go."), message]) == [("missing_result", 1, "c1")]
    entry = Block(asked(("c1", "run", "{}"))["tool_calls"][0])
    assert found([said("Go."), {"role": "assistant", "tool_calls": [entry]}]) == [("missing_result", 1, "c1")]


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        ("hello", "a list of messages is wanted, not a text"),
        ({"role": "user"}, "a list of messages is wanted, not an object"),
        (7, "a list of messages is wanted, not a number"),
        ([said("a"), "b"], r"messages\[1\] is a text, and an object is wanted"),
        ([None], r"messages\[0\] is null, and an object is wanted"),
    ],
)
def test_what_is_no_message_list_is_refused(messages: Any, why: str) -> None:
    with pytest.raises(MessageError, match=why):
        inspect(messages)


def test_an_unknown_shape_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown shape `gemini`"):
        inspect([], shape="gemini")


POLICY = """
apiVersion: callgate/v1
kind: GuardPolicy
metadata: {name: p}
spec: {extends: [default], tools: [t]}
---
apiVersion: callgate/v1
kind: ToolManifest
metadata: {name: t}
spec:
  tools:
    search: {effect: read, identity: {casefold: [q], ignore: [request_id]}}
    look: {effect: read}
    edit: {effect: write}
    job: {effect: read, waiting: true}
"""


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Gate:
    folder = tmp_path_factory.mktemp("policy")
    (folder / "p.yaml").write_text(POLICY)
    return Gate.load(folder)


def chat(*calls: tuple[str, str]) -> list[Any]:
    """One turn for each call (tool, arguments), each answered."""
    messages: list[Any] = [said("Go.")]
    for number, (tool, arguments) in enumerate(calls):
        messages += [asked((f"c{number}", tool, arguments)), told(f"c{number}", "fine")]
    return messages


def test_with_a_policy_calls_are_the_same_by_its_loose_identity(gate: Gate) -> None:
    messages = chat(("search", '{"q": "Bearing", "request_id": 1}'), ("search", '{"q": "bearing", "request_id": 2}'))
    assert found(messages) == []
    assert found(messages, policy=gate.policy) == [("repeated_call", 3, "c1")]


def test_a_declared_read_in_between_changes_nothing(gate: Gate) -> None:
    messages = chat(("search", '{"q": "a"}'), ("look", "{}"), ("search", '{"q": "a"}'))
    assert found(messages) == []  # nobody said that `look` is a read
    assert found(messages, policy=gate.policy) == [("repeated_call", 5, "c2")]


def test_a_write_in_between_makes_a_repeat_worth_it(gate: Gate) -> None:
    messages = chat(("search", '{"q": "a"}'), ("edit", '{"n": 1}'), ("search", '{"q": "a"}'))
    assert found(messages, policy=gate.policy) == []


def test_asking_how_a_job_stands_is_no_repeat(gate: Gate) -> None:
    messages = chat(("job", "{}"), ("job", "{}"), ("job", "{}"))
    assert found(messages, policy=gate.policy) == []
    assert len(found(messages)) == 2


def test_going_round_between_two_known_calls_is_repeating() -> None:
    messages = chat(("a", "{}"), ("b", "{}"), ("a", "{}"), ("b", "{}"))
    assert found(messages) == [("repeated_call", 7, "c3")]  # `b` was new when it came between the first two


def test_a_call_that_brings_something_else_was_worth_making() -> None:
    call = '{"q": 1}'
    results = iter(["1 hit", "2 hits", "2 hits"])
    messages: list[Any] = [said("Go.")]
    for number in range(3):
        messages += [asked((f"c{number}", "find", call)), told(f"c{number}", next(results))]
    assert found(messages) == [("repeated_call", 5, "c2")]
    assert inspect(messages)[0].related == 3


def test_a_call_after_its_lost_result_is_no_repeat() -> None:
    lost, fine = user(result("t1", LOST)), user(result("t2", "fine"))
    messages = [said("Go."), model(use("t1", "run")), lost, model(use("t2", "run")), fine]
    assert found(messages) == []


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        ('{"a": 1}', None), ("", None), ("  ", None), ({"a": 1}, None), (None, None),
        ('{"a": 1', "cut_off"), ('{"a": "x', "cut_off"), ('{"a": "x\\', "cut_off"), ('{"a": "\\u00', "cut_off"),
        ('{"a": tru', "cut_off"), ('{"a": -', "cut_off"), ('{"a":', "cut_off"), ('{"a', "cut_off"), ("{", "cut_off"),
        ('{"a": 1,', "cut_off"), ('[1, 2', "cut_off"),
        ("[1, 2]", "not_json"), ('"text"', "not_json"), ("{a: 1}", "not_json"), ('{"a": 1} {"b": 2}', "not_json"),
        ('{"a": NaN}', "not_json"), ('{"a": 1, "a": 1}', "not_json"), ('{"a": "x\ny"}', "not_json"),
        ("[" * 100_000, "not_json"), ('{"a": ' + "9" * 5000 + "}", "not_json"), (7, "not_json"), ([1], "not_json"),
    ],
)  # fmt: skip
def test_arguments_are_read_strictly(written: Any, fault: str | None) -> None:
    read = read_arguments(written)
    assert (read.fault, read.value is None) == (fault, fault is not None)


@pytest.mark.parametrize(
    ("content", "weakness"),
    [
        ("done", None), ("", None), ("{}", None), ("[1] job started, output in a.log", None),
        ("3 lines truncated the river", None), ("The table was truncated on purpose; 14 rows are left.", None),
        ("line 1\nline 2\n[truncated]", "cut_off"), ("a\n... (output truncated)", "cut_off"),
        ("a\n[... 214 lines omitted ...]", "cut_off"), ("a… truncated", "cut_off"),
        ('[{"id": 1, "name": "a"}, {"id": 2, "na', "cut_off"), ('{"ok": true}', None),
        ("[Old tool result content cleared]", "cleared"), ("<output removed to save space>", "cleared"),
        ("[result omitted]", "cleared"), ("Result removed: 3 rows.", None),
        ("The tool results were trimmed by the gardener, who likes roses and long walks on the beach at night.", None),
    ],
)  # fmt: skip
def test_a_weak_result_is_told_by_its_text(content: str, weakness: str | None) -> None:
    assert how_weak(content) == weakness
