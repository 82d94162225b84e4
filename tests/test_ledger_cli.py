"""`callgate ledger`: what is in doubt is listed, shown and resolved; what is not is left alone."""

import json
from pathlib import Path
from typing import Any

import pytest

from callgate.cli.main import main
from callgate.stores import SqliteStore
from callgate.testing.stores.messages import claim, settlement

VERIFY = {"tool": "get_order", "arguments": {"order_ref": "4711"}}


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store with an effect in doubt, one that was completed, and one whose owner died, begun in this order."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CALLGATE_STORE", raising=False)
    path = tmp_path / "callgate.db"
    store = SqliteStore(path)
    for number, key in enumerate(["aa1", "aa2", "bb3"]):
        body = json.loads(claim(f"c{number}", key=key, target=key))
        body["effect"]["verify"] = json.dumps(VERIFY)
        store.commit(json.dumps(body), 1_000.0 + number)
    store.settle(settlement("c0", effect="unknown"), 1_005.0)
    store.settle(settlement("c1", effect="completed", result={"order": 7}), 1_006.0)
    store.close()  # so that the file may be moved
    return path


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["ledger", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


FIRST = 'aa1  unknown  pay of task t  1970-01-01 00:16:45 UTC  get_order {"order_ref": "4711"} would tell\n'
THIRD = 'bb3  unknown  pay of task t  1970-01-01 00:16:52 UTC  get_order {"order_ref": "4711"} would tell\n'


def test_what_is_in_doubt_is_listed_and_the_rest_where_it_is_asked_for(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told(capsys, "list") == (0, THIRD + FIRST, "")
    assert told(capsys, "list", "--limit", "1") == (0, THIRD, "")
    done = "aa2  completed  pay of task t  1970-01-01 00:16:46 UTC\n"
    assert told(capsys, "list", "--state", "all") == (0, THIRD + done + FIRST, "")
    assert told(capsys, "list", "--state", "completed", "--store", str(path)) == (0, done, "")
    assert told(capsys, "list", "--task", "u") == (
        0, "", "callgate: there is no effect of the task `u` in the state `unknown`\n",
    )  # fmt: skip
    assert told(capsys, "list", "--task", "u", "--format", "json") == (0, "[]\n", "")
    assert told(capsys, "list", "--task", "u", "--state", "all")[2] == "callgate: there is no effect of the task `u`\n"
    listed = json.loads(told(capsys, "list", "--format", "json")[1])
    assert [(each["key"], each["state"], each["verify"]) for each in listed] == [
        ("bb3", "unknown", VERIFY),
        ("aa1", "unknown", VERIFY),
    ]


def test_one_is_shown_by_how_its_key_begins(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = (
        "key               aa2\n"
        "state             completed\n"
        "tool              pay\n"
        "task              t\n"
        "begun by          c1\n"
        "began             1970-01-01 00:16:41 UTC\n"
        "lease until       1970-01-01 00:16:51 UTC\n"
        "ended             1970-01-01 00:16:46 UTC\n"
        'would tell        get_order {"order_ref": "4711"}\n'
        'result            {"order": 7}\n'
    )
    assert told(capsys, "show", "aa2") == (0, shown, "")
    data: Any = json.loads(told(capsys, "show", "bb", "--format", "json")[1])
    assert (data["key"], data["state"], data["ended"], data["owner"]) == ("bb3", "unknown", 1012.0, "c2")
    several = "callgate: several keys begin with `aa`: give more of it\n"
    assert told(capsys, "show", "aa") == (2, "", several)
    assert told(capsys, "show", "c") == (3, "", "callgate: there is no effect whose key begins with `c`\n")


def test_a_doubt_is_resolved_once_by_whoever_says_who_they_are(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = "bb3  landed: it is not done again\n"
    assert told(capsys, "resolve", "bb", "--landed", "--result", '{"order": 8}', "--by", "anna") == (0, said, "")
    [known] = SqliteStore(path).entries(2_000.0, key="bb3")
    assert (known.state, known.result, known.by) == ("completed", {"order": 8}, "anna")
    assert told(capsys, "resolve", "aa1", "--absent") == (0, "aa1  absent: it may be done again\n", "")
    assert [entry.key for entry in SqliteStore(path).entries(2_000.0)] == ["bb3", "aa2"]
    assert told(capsys, "resolve", "aa1", "--absent")[0] == 3


def test_what_is_not_in_doubt_is_left_alone(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = "callgate: effect `aa2` is not in doubt: it is known to have happened\n"
    assert told(capsys, "resolve", "aa2", "--absent") == (1, "", known)
    SqliteStore(path).commit(claim("now", key="cc4", target="cc4", lease=1e12), 1_000.0)
    flies = "callgate: effect `cc4` is not in doubt: a call is at it; try again when it is over\n"
    assert told(capsys, "resolve", "cc4", "--landed") == (1, "", flies)


def test_a_key_that_others_begin_with_is_meant_by_itself(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As those of effects that may happen again do, which are numbered."""
    store = SqliteStore(path)
    for number, key in enumerate(["run/1", "run/10", "run/11", "run/12"]):
        store.commit(claim(f"n{number}", key=key, target=key), 1_100.0 + number)
    assert told(capsys, "resolve", "run/1", "--absent") == (0, "run/1  absent: it may be done again\n", "")
    assert [entry.key for entry in store.entries(9_000.0, key="run/")] == ["run/12", "run/11", "run/10"]


def test_a_word_that_comes_late_against_a_person_is_shown(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = SqliteStore(path)
    assert told(capsys, "resolve", "bb3", "--landed", "--by", "anna")[0] == 0
    effect = json.loads(claim("c2", key="bb3", target="bb3"))["effect"]
    late = {"owner": "c2", "effect": effect, "end": {"state": "free"}}
    store.settle(json.dumps({"id": "late", "task": "t", "late": late}), 2_000.0)
    shown = told(capsys, "show", "bb3")[1].splitlines()
    assert [line for line in shown if line.startswith(("resolved", "its call"))] == [
        "resolved by       anna",
        "its call said     it did not take place, 1970-01-01 00:33:20 UTC",
    ]
    as_data = json.loads(told(capsys, "show", "bb3", "--format", "json")[1])
    assert as_data["late"] == {"at": 2_000.0, "landed": False}


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["resolve", "bb3", "--landed", "--result", "{"], "callgate: `--result` is no JSON: "),
        (["resolve", "bb3", "--absent", "--result", "1"], "callgate: `--result` goes with `--landed`: "),
        (["resolve", "", "--landed"], "callgate: `key` is empty: "),
        (["show", ""], "callgate: `key` is empty: "),
        (["resolve", "aa", "--landed"], "callgate: several keys begin with `aa`: give more of it\n"),
        (["list", "--store", "other.db"], "callgate: there is no store `other.db`: name one with `--store`\n"),
    ],
)
def test_what_cannot_be_meant_is_told(
    path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], why: str
) -> None:
    code, out, err = told(capsys, *arguments)
    assert (code, out, err.startswith(why)) == (2, "", True), err
    assert [entry.state for entry in SqliteStore(path).entries(2_000.0)] == ["unknown", "completed", "unknown"]


def test_the_store_of_the_project_is_found_from_a_folder_below(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    below = path.parent / "shop" / "policies"
    below.mkdir(parents=True)
    path.rename(path.parent / "shop" / "effects.db")
    (path.parent / "shop" / "callgate.yaml").write_text("store: effects.db\n")
    monkeypatch.chdir(below)
    assert told(capsys, "list") == (0, THIRD + FIRST, "")
    assert main(["escalations", "list"]) == 0
    monkeypatch.setenv("CALLGATE_STORE", "nowhere.db")
    assert told(capsys, "list")[0] == 2
