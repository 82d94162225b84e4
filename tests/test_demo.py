"""`callgate demo` judges its run like a replay, says all that it has to, and suits whoever looks at it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from callgate import Gate, _core
from callgate.cli.demo import PACK, RUN, judged
from callgate.cli.main import main
from callgate.policy.packs import packs_root
from callgate.report.timeline import Moment, Remark, render

# Worked out by hand from the recording and the numbers of the pack: 3 equal answers bring a note, the next call is
# refused, and a call that was refused twice is a stop when it comes again.
VERDICTS = {
    2: "allowed",
    3: "allowed",
    4: "allowed",
    5: "allowed",
    7: "allowed",
    8: "allowed",
    10: "noted",
    11: "noted",
    12: "refused",
    13: "refused",
    14: "allowed",
    16: "allowed",
    17: "allowed",
    18: "noted",
    20: "refused",
    21: "stopped",
    22: "refused",
}


def recording() -> bytes:
    return (packs_root() / RUN).read_bytes()


def moments() -> list[Moment]:
    records = [json.loads(line) for line in recording().splitlines()]
    return [item for item in judged(records, Gate.load(PACK)) if isinstance(item, Moment)]


def test_the_recorded_run_is_noted_refused_and_stopped_where_its_loops_are() -> None:
    assert {moment.seq: moment.verdict for moment in moments()} == VERDICTS


def test_the_demo_decides_what_a_replay_of_the_same_recording_decides() -> None:
    replay = _core.Replay(Gate.load(PACK).policy)
    assert replay.feed(recording()) == []
    replay.finish()
    replayed = [
        (row["seq"], row["action"], row["reasons"], [(note["reason"], note["message"]) for note in row["notes"]])
        for row in replay.take_rows()
    ]
    assert replayed == [
        (moment.seq, moment.action, [reason for reason, _ in moment.why], list(moment.notes)) for moment in moments()
    ]


def test_a_replay_counts_the_stop_and_the_notes_of_stopped_rows_too() -> None:
    replay = _core.Replay(Gate.load(PACK).policy)
    replay.feed(recording())
    replay.finish()
    assert replay.totals == {
        "sessions": 1,
        "calls": 17,
        "events": 5,
        "saved": 5,
        "noted_sessions": 1,
        "touched_sessions": 1,
        "stopped_sessions": 1,
        "by_reason": [
            ("note", "cycle", 2),
            ("note", "exact_repeat", 3),
            ("refuse", "exact_repeat", 3),
            ("refuse", "stopped", 1),
            ("stop", "exact_repeat", 1),
        ],
        "lifted": [],
    }


def test_the_demo_says_where_and_why_what_the_model_read_what_was_saved_and_what_to_try(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["demo"]) == 0
    said = capsys.readouterr().out
    for words in (
        " 12  35 s  get_order     order: 4711" + 44 * " " + "refused\n"
        "           ↳ exact_repeat: this exact call of `get_order` has returned the same result 3 times\n",
        "code       DUPLICATE_TOOL_CALL_BLOCKED",
        "noted 3 ",
        "refused 3 ",
        "stopped 1 ",
        "5 of 17 calls did not run",
        "\n  callgate init my-policy\n",
        "\n  callgate test my-policy\n",
        "\n  callgate replay ",
    ):
        assert words in said


@pytest.mark.parametrize("columns", [60, 80, 100, 120])
def test_no_line_but_the_last_command_is_wider_than_the_terminal(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    main(["demo"])
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines[:-1] if len(line) > columns] == []


def test_there_is_no_colour_where_output_is_no_terminal() -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("callgate"), "demo"], capture_output=True, text=True, check=True
    )
    assert "\x1b" not in done.stdout
    assert done.stderr == ""


def test_the_demo_runs_in_a_folder_that_has_nothing_to_do_with_callgate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == 0
    command = capsys.readouterr().out.splitlines()[-1].split()
    assert Path(command[2]).resolve() == (packs_root() / RUN).resolve()


def test_a_timeline_shows_each_kind_of_verdict_and_shortens_what_does_not_fit() -> None:
    run = [
        Remark(1, 0.0, "user", "Hello,\nare you there?"),
        Moment(2, 1.0, "search", {"words": "a very long text that has no room in this line"}, failure="fails: timeout"),
        Moment(3, 2.0, "search", {"n": 1}, notes=(("exact_repeat", "This is it. Do not."),)),
        Moment(4, 3.0, "search", {}, action="reuse", why=(("exact_repeat", "this is it"),), reply="{}"),
        Moment(5, 100.0, "\x1b[2J", {}, action="ask", why=(("rule:two", "two"), ("rule:three", "three"))),
    ]
    assert render(run, width=60) == (
        "seq   time  tool     arguments      verdict\n"
        "  1    0 s  user: “Hello, are you there?”\n"
        "  2    1 s  search   words: a ver…  allowed (fails: timeout)\n"
        "  3    2 s  search   n: 1           noted\n"
        "            ↳ exact_repeat: this is it\n"
        "  4    3 s  search                  reused\n"
        "            ↳ exact_repeat: this is it\n"
        "  5  100 s  \\x1b[2J                 asked\n"
        "            ↳ rule:two: two\n"
        "            ↳ rule:three: three\n"
    )


def test_verdicts_are_coloured_on_request() -> None:
    assert "\x1b[31mrefused\x1b[0m" in render([Moment(1, 0.0, "a", {}, action="refuse", reply="{}")], color=True)
