"""Loops stay loops when an unrelated read stands after each of their calls."""

from pathlib import Path

from callgate.testing import run_tests
from distractors import distracted, with_distractors

# A hand-over that is followed by work is no hand-over in a row, and where every other call brings something new it is
# not true that nothing does: not with made-up tools, and not from compaction to compaction.
ENDED_BY_WORK = {"L25", "L33", "L35", "L36"}


def test_a_distractor_stands_after_each_call_and_after_the_whole_of_a_batch() -> None:
    calls = [
        {"session": "s", "seq": 1, "round": 1, "time": 5, "tool": "a", "arguments": {}},
        {"session": "s", "seq": 2, "round": 2, "time": 9, "tool": "b", "arguments": {}},
        {"session": "s", "seq": 3, "round": 2, "time": 9, "tool": "c", "arguments": {}},
    ]
    trace, where = with_distractors(calls)
    shown = [(each["seq"], each["tool"], each["round"], each["time"]) for each in trace]
    assert shown == [
        (1, "a", 1000, 5),
        (2, "unrelated_look", 1001, 5),
        (3, "b", 2000, 9),
        (4, "c", 2000, 9),
        (5, "unrelated_look", 2001, 9),
        (6, "unrelated_look", 2002, 9),
    ]
    assert where == {1: 1, 2: 3, 3: 4}


def test_loops_with_an_unrelated_read_after_every_call_are_caught_by_the_shifted_deadline(
    root: Path, tmp_path: Path
) -> None:
    cases = sorted((root / "policies" / "default" / "tests" / "cases").glob("L*_test.yaml"))
    assert len(cases) == 22
    run = run_tests([distracted(case, tmp_path) for case in cases])
    assert [(each.name, each.diagnostics) for each in run.results if each.diagnostics] == []
    caught = {each.name for each in run.results if each.outcome == "passed"}
    assert {case.name.removesuffix("_test.yaml") for case in cases} - caught <= ENDED_BY_WORK
    assert len(caught) >= 18
