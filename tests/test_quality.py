"""The frame of the measurement of quality: what counts as noted and refused, the loops that are put in, the bars."""

from pathlib import Path
from typing import Any

import pytest

from quality import families, recordings, splices, sweeps, tables
from quality.bars import Bar, of_healthy, of_labels, of_splices, scores
from quality.judged import Judged, judge
from quality.recordings import Label, Records
from quality.splices import Spliced

LOOP = Label("set", "loop", "loop", onset=4, last=9, kind="cycle")
OK = Label("set", "ok", "ok", onset=0, last=0, kind="")


def calls(session: str, *commands: str, **outcome: Any) -> Records:
    return [
        {
            "session": session,
            "seq": seq,
            "tool": "bash",
            "arguments": {"command": command},
            "is_error": False,
            **outcome,
        }
        for seq, command in enumerate(commands)
    ]


def test_a_reuse_counts_as_a_refusal_and_a_refusal_as_a_note() -> None:
    quiet, reused = Judged(), Judged(actions={3: ("reuse", "exact_repeat"), 5: ("stop", "exact_repeat")})
    assert (quiet.noted, quiet.refused) == (None, None)
    assert (reused.noted, reused.refused) == (3, 3)


def test_what_comes_after_a_stop_is_not_counted() -> None:
    judged = Judged(
        notes={2: ["exact_repeat", "cycle"]},
        actions={3: ("refuse", "cycle"), 4: ("stop", "cycle"), 5: ("refuse", "stopped")},
    )
    assert judged.counts() == {
        ("note", "exact_repeat"): 1,
        ("note", "cycle"): 1,
        ("refuse", "cycle"): 1,
        ("stop", "cycle"): 1,
    }


def test_recorded_names_are_judged_as_the_tools_that_they_are_like() -> None:
    # four looks at an unchanged file by a name that no pack has
    runs = {"s": [{**call, "tool": "ctf"} for call in calls("s", *["cat a"] * 4, result="x")]}
    assert judge(families.compiled(), runs) == {
        "s": Judged(notes={2: ["exact_repeat", "cycle"]}, actions={3: ("reuse", "exact_repeat")})
    }


def test_a_line_that_is_no_record_is_an_error() -> None:
    with pytest.raises(ValueError, match="a line that cannot be replayed"):
        judge(families.compiled(), {"s": [{"session": "s", "seq": 0, "tool": 7, "arguments": {}}]})


def test_loops_are_put_in_where_only_the_name_decides_and_are_due_at_their_last_call() -> None:
    runs = {name: calls(name, *[f"{name} {n}" for n in range(9)], result=name) for name in ("a", "b", "c")}
    names = splices.chosen(runs, frozenset({"c"}))
    assert sorted(names) == ["a", "b"]
    found = list(splices.spliced(runs, names))
    assert found == list(splices.spliced(runs, names))
    assert [each.kind for each in found] == ["equal_calls", "cycle", "equal_errors"] * 2
    for loop in found:
        assert [record["seq"] for record in loop.records] == list(range(len(loop.records)))
        assert {record["session"] for record in loop.records} == {loop.session}
        # what was put in ends at the call that is due; the healthy run stands around it, whole
        host = loop.session.partition("/")[2]
        own = [record["arguments"]["command"] for record in loop.records if record["arguments"]["command"][0] == host]
        assert own == [f"{host} {n}" for n in range(9)]
        assert loop.records[loop.due]["arguments"]["command"][0] != host
        assert [r["arguments"]["command"][0] for r in loop.records[loop.due + 1 :]] == [host] * (
            len(loop.records) - loop.due - 1
        )


def test_each_kind_of_loop_is_what_its_name_says() -> None:
    runs = {name: calls(name, *[f"{name} {n}" for n in range(9)], result=name) for name in ("a", "b")}
    by_kind = {
        each.kind: each for each in splices.spliced(runs, ["a", "b"])
    }  # the last of each kind: into `b`, from `a`
    put_in = {
        kind: [record["arguments"]["command"] for record in each.records if record["arguments"]["command"][0] == "a"]
        for kind, each in by_kind.items()
    }
    assert len(put_in["equal_calls"]) == 4
    assert len(set(put_in["equal_calls"])) == 1
    lap = len(set(put_in["cycle"]))
    assert 2 <= lap <= 4
    assert put_in["cycle"] == put_in["cycle"][:lap] * 3 + put_in["cycle"][:1]
    assert len(set(put_in["equal_errors"])) == len(put_in["equal_errors"]) == 6
    failed = [record for record in by_kind["equal_errors"].records if record["arguments"]["command"][0] == "a"]
    assert {(record["is_error"], record["result"]) for record in failed} == {(True, "a")}


@pytest.mark.parametrize(
    ("bar", "met", "wanted"),
    [
        (Bar("a", 11, 12, at_least=11 / 12), True, "at least 11"),
        (Bar("a", 10, 12, at_least=11 / 12), False, "at least 11"),
        (Bar("a", 5, 500, at_most=0.01), True, "at most 1%"),
        (Bar("a", 6, 500, at_most=0.01), False, "at most 1%"),
        (Bar("a", 0, 80, at_most=0), True, "at most 0"),
        (Bar("a", 1, 80, at_most=0), False, "at most 0"),
        (Bar("a", 0, 0, at_most=0), False, "at most 0"),  # nothing measured is no bar met
    ],
)
def test_a_bar_is_met_up_to_its_number(bar: Bar, met: bool, wanted: str) -> None:
    assert (bar.met, bar.wanted) == (met, wanted)


def test_labelled_sessions_are_told_one_by_one() -> None:
    late = Judged(notes={8: ["cycle"]}, actions={10: ("refuse", "cycle")})
    touched = Judged(actions={2: ("refuse", "same_error")})
    noted, refused, healthy = of_labels([LOOP, OK], {("set", "loop"): late, ("set", "ok"): touched})
    told = "set loop: onset 4, end 9, noted at 8, refused at 10"
    assert (noted.count, noted.of, noted.missed) == (0, 1, [told])
    assert (refused.count, refused.of, refused.missed) == (0, 1, [told])
    assert (healthy.count, healthy.of) == (1, 1)
    assert healthy.missed == ["set ok: onset 0, end 0, noted at 2, refused at 2"]


def test_healthy_sessions_and_loops_that_were_put_in_are_told_one_by_one() -> None:
    sessions = {"a": Judged(), "b": Judged(actions={7: ("refuse", "same_error")})}
    assert of_healthy("all", sessions, 0.5) == Bar("all", 1, 2, at_most=0.5, missed=["b: same_error at 7"])
    loops = [Spliced("cycle", "cycle/a", [], due=6), Spliced("cycle", "cycle/b", [], due=6)]
    judged = {"cycle/a": Judged(actions={6: ("refuse", "cycle")}), "cycle/b": Judged(actions={7: ("stop", "cycle")})}
    (bar,) = of_splices(loops, judged)
    assert (bar.count, bar.of, bar.missed) == (1, 2, ["cycle/b: due at 6, refused at 7"])


def test_scores_leave_borderline_sessions_out() -> None:
    edge = Label("set", "edge", "borderline", 0, 0, "")
    found = scores("a note", [LOOP, OK, edge], {("set", "loop"): 3, ("set", "ok"): 8, ("set", "edge"): 1})
    assert (found.precision, found.recall, found.median_delay, found.longest_delay) == (0.5, 1.0, -1, -1)


def test_the_tables_say_which_bars_are_met() -> None:
    assert tables.bars([Bar("loops", 11, 12, at_least=11 / 12), Bar("work", 6, 500, at_most=0.01)]).splitlines() == [
        "| bar | measured | wanted | met |",
        "|---|---|---|---|",
        "| loops | 11 of 12 (91.7%) | at least 11 | yes |",
        "| work | 6 of 500 (1.2%) | at most 1% | NO |",
    ]


def test_sweeps_over_items_go_on_where_searches_are_refused() -> None:
    judged = judge(families.compiled(), sweeps.runs())
    early = {sweep.what: (judged[sweep.what].refused or sweeps.ITEMS + 1) <= 7 for sweep in sweeps.SWEEPS}
    assert {what for what, refused in early.items() if refused} == {
        "12 searches reworded, one answer",
        "12 searches reworded, nothing found",
        "12 filters tried, one answer",
        # an error is one error, whatever it was asked about; records and files may be tried more often
        "12 pages, none there",
    }


@pytest.mark.slow
def test_every_bar_is_met_on_the_recordings(shared: Path) -> None:
    from quality.__main__ import measure

    found, _ = measure(shared / "traces")
    assert [(bar.what, bar.count, bar.of) for bar in found if not bar.met] == []
    assert len(found) == 10
    assert set(recordings.DATA_SETS) == {
        path.name.removesuffix(".jsonl.gz") for path in (shared / "traces").glob("*.jsonl.gz")
    }
