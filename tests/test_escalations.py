"""The queue of what has to go to a person: what is pushed stays, one claims it, and a broken store is told clearly."""

import json
import multiprocessing
import resource
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from callgate import Gate, Task, _core
from callgate.cli.main import main
from callgate.stores.errors import EscalationError, StoreError
from callgate.stores.escalations import Escalation, Escalations
from callgate.testing import FakeClock
from sufficiency import QUOTES, documents, made, search

REPORT = {"status": "incomplete", "missing": [["ACME", "unit_price"]]}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "desk.db"


def queue(path: Path, **keys: Any) -> Escalations:
    times = iter(range(1000, 9999))
    return Escalations(path, clock=lambda: float(next(times)), **keys)


def test_what_is_pushed_is_claimed_and_resolved_and_outlives_its_process(path: Path) -> None:
    first = queue(path)
    pushed = first.push("e1", REPORT, task="order-4711", queue="desk")
    assert pushed == Escalation("e1", "desk", "order-4711", 1000.0, "open", report=REPORT)
    first.close()
    second = queue(path)
    claimed = second.claim("anna", escalation_id="e1")
    assert claimed is not None
    assert (claimed.state, claimed.claimed_by, claimed.report) == ("claimed", "anna", REPORT)
    second.resolve("e1", "anna", "called the supplier")
    found = queue(path).get("e1")
    assert found == Escalation(
        "e1", "desk", "order-4711", 1000.0, "resolved", "anna", 1000.0, "anna", 1001.0, "called the supplier", REPORT
    )


def test_every_operation_may_be_done_again(path: Path) -> None:
    store = queue(path)
    for report in (REPORT, {"other": 1}):
        assert store.push("e1", report, task="t").report == REPORT
    assert store.claim("anna", escalation_id="e1") == store.claim("anna", escalation_id="e1")
    assert store.resolve("e1", "anna", "done") == store.resolve("e1", "anna", "done")
    assert [each.id for each in store.list()] == ["e1"]


def test_what_another_one_has_is_not_given_again(path: Path) -> None:
    store = queue(path)
    store.push("e1", REPORT, task="t")
    store.claim("anna", escalation_id="e1")
    for act in (lambda: store.claim("otto", escalation_id="e1"), lambda: store.resolve("e1", "otto", "mine")):
        with pytest.raises(EscalationError, match=r"^escalation `e1` was claimed by `anna`$"):
            act()
    store.resolve("e1", "anna", "done")
    for act in (lambda: store.claim("anna", escalation_id="e1"), lambda: store.resolve("e1", "anna", "otherwise")):
        with pytest.raises(EscalationError, match=r"^escalation `e1` was resolved by `anna`: done$"):
            act()
    with pytest.raises(EscalationError, match=r"^there is no escalation `e2`$"):
        store.get("e2")


def test_the_oldest_open_one_of_a_queue_is_claimed_first(path: Path) -> None:
    store = queue(path)
    for name, of in (("b", "desk"), ("a", "other"), ("c", "desk")):
        store.push(name, {}, task="t", queue=of)
    claimed = [store.claim("anna", queue=of) for of in ("desk", "desk", "desk", None, None)]
    assert [each and each.id for each in claimed] == ["b", "c", None, "a", None]
    assert [each.id for each in store.list(queue="desk", state="claimed")] == ["b", "c"]
    assert [each.id for each in store.list(limit=2)] == ["b", "a"]


def test_texts_that_utf_8_has_no_form_for_lose_no_escalation(path: Path) -> None:
    store = queue(path)
    store.push("e\ud800", {"said": "\udcff", "at": object}, task="t\ud800")
    [found] = store.list()
    assert (found.id, found.task, store.get(found.id).report["said"]) == ("e?", "t?", "?")


# Processes


def push_and_claim(path: str, name: str, start: Any, found: Any) -> None:
    store = Escalations(path, wait=60.0)
    start.wait()
    for number in range(20):
        store.push(f"e{number}", {"number": number}, task="t")
    claimed = []
    for number in range(20):
        try:
            if store.claim(name, escalation_id=f"e{number}"):
                claimed.append(number)
        except EscalationError:
            continue
    found.put(claimed)


def test_of_several_processes_exactly_one_gets_each_and_none_is_pushed_twice(path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    start, found = context.Barrier(3), context.Queue()
    names = ["anna", "otto", "ida"]
    workers = [context.Process(target=push_and_claim, args=(str(path), name, start, found)) for name in names]
    for worker in workers:
        worker.start()
    claimed = [found.get(timeout=120) for _ in workers]
    for worker in workers:
        worker.join(timeout=60)
    assert sorted(number for each in claimed for number in each) == list(range(20))
    assert len(Escalations(path).list(state="claimed")) == 20


def test_threads_share_one_queue(path: Path) -> None:
    store = queue(path)
    for number in range(30):
        store.push(f"e{number}", {}, task="t")
    claimed: list[str] = []

    def work(name: str) -> None:
        while (found := store.claim(name)) is not None:
            claimed.append(found.id)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(claimed) == sorted(f"e{number}" for number in range(30))


# Stores that cannot be used


def test_a_store_that_is_locked_is_waited_for_and_then_told(path: Path) -> None:
    store = queue(path, wait=0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreError, match=r"another process has held it locked for 0.05 s"):
        store.push("e1", REPORT, task="t")
    other.execute("ROLLBACK")
    assert store.push("e1", REPORT, task="t").state == "open"


def test_a_damaged_file_is_told(path: Path) -> None:
    path.write_bytes(b"this is no database, and was never meant to be one" * 40)
    with pytest.raises(StoreError, match="it is damaged, or no SQLite file"):
        queue(path)
    assert path.read_bytes().startswith(b"this is no database")


def test_a_file_that_was_damaged_later_is_told(path: Path) -> None:
    store = queue(path)
    for number in range(200):
        store.push(f"e{number}", {"x": "y" * 2000}, task="t")
    store.close()
    with path.open("r+b") as file:
        file.seek(8192)
        file.write(b"\xff" * 100_000)
    with pytest.raises(StoreError, match="it is damaged, or no SQLite file"):
        for number in range(200):
            queue(path).get(f"e{number}")


def test_another_programs_file_is_left_alone(path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute("PRAGMA application_id = 77")
    other.execute("CREATE TABLE t (x)")
    other.commit()
    other.close()
    with pytest.raises(StoreError, match="it is another program's SQLite file"):
        queue(path)
    path.unlink()
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE escalations (x)")
    other.commit()
    with pytest.raises(StoreError, match="it is another program's SQLite file"):
        queue(path)


def test_a_file_of_another_version_is_told(path: Path) -> None:
    queue(path).close()
    other = sqlite3.connect(path)
    other.execute("PRAGMA user_version = 9")
    other.commit()
    with pytest.raises(StoreError, match="it has format 9, this version reads 3"):
        queue(path)


@pytest.mark.parametrize("name", ["no/such/folder/desk.db", ""])
def test_a_place_where_no_file_can_be_is_told(tmp_path: Path, name: str) -> None:
    with pytest.raises(StoreError, match="it cannot be opened"):
        queue(tmp_path / name)


def test_a_full_disk_is_told_and_what_was_there_stays(path: Path) -> None:
    queue(path).push("e1", REPORT, task="t")
    code = (
        "import sys\n"
        "from callgate.stores.escalations import Escalations\n"
        "from callgate.stores.errors import StoreError\n"
        "try:\n"
        "    Escalations(sys.argv[1]).push('e2', {'x': 'y' * 1_000_000}, task='t')\n"
        "except StoreError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000)),
    )
    assert (done.returncode, done.stderr) == (0, "")
    said = done.stdout.removeprefix(f"cannot use the store `{path}`: ")
    assert said in ("there is no room left on the disk\n", "reading or writing the disk failed\n")
    assert [each.id for each in queue(path).list()] == ["e1"]


# Tasks that end in it


def stuck(path: Path | None, **keys: Any) -> Task:
    """A task whose look-ups bring nothing and which goes to a person."""
    rules = [{"id": "no", "tools": ["note"], "when": "true", "action": "stop"}]
    spec = {"needs": [QUOTES], "rules": rules, "fallback": {"then": {"queue": "desk"}}, **keys}
    policy, _ = _core.compile_policy(*documents(spec))
    assert policy is not None
    store = None if path is None else queue(path)
    return Gate(policy, clock=FakeClock(), escalations=store).task("order-4711")


def test_a_task_that_is_handed_over_by_hand_goes_to_the_queue_of_its_policy(path: Path) -> None:
    assert stuck(path).escalate().queue == "desk"


def test_a_task_that_goes_to_a_person_is_queued_with_its_report(path: Path) -> None:
    task = stuck(path)
    made(task, "supplier_search", search({"supplier": "ACME"}))
    assert task.report()["escalation"] is None
    task.admit("note", {})
    [found] = queue(path).list()
    assert (found.queue, found.task, found.id[:11]) == ("desk", "order-4711", "order-4711-")
    assert task.report()["escalation"] == {"id": found.id, "queue": "desk"}
    report = queue(path).get(found.id).report
    assert (report["status"], report["exit"], len(report["missing"])) == ("incomplete", "escalate", 14)
    assert task.escalate().id == found.id
    task.admit("note", {"n": 2})
    assert len(queue(path).list()) == 1


def test_a_task_that_was_resumed_is_still_the_same_escalation(path: Path) -> None:
    task = stuck(path)
    task.admit("note", {})
    assert task._gate.resume(task.snapshot()).escalate().id == task.escalate().id


@pytest.mark.parametrize("by_hand", [False, True])
def test_a_stop_that_keeps_its_answer_goes_to_nobody_unless_it_is_asked_for(path: Path, by_hand: bool) -> None:
    need = {**QUOTES, "min_records": 1, "fields": ["supplier", "model"]}
    task = stuck(path, needs=[need])
    made(task, "supplier_search", search({"supplier": "ACME", "model": "6204"}))
    stop = task.admit("note", {}).stop
    assert stop is not None
    assert (stop.exit, queue(path).list()) == ("finish", [])
    if by_hand:
        task.escalate()
        assert [each.queue for each in queue(path).list()] == ["desk"]


def test_a_store_that_fails_holds_no_verdict_up_and_the_report_says_so(path: Path) -> None:
    task = stuck(path)
    store = task._gate.escalations
    assert store is not None
    store.close()
    path.unlink()
    for beside in path.parent.glob("desk.db-*"):
        beside.unlink()
    path.mkdir()
    assert task.admit("note", {}).action == "stop"
    assert task.report()["escalation"]["error"].startswith(f"cannot use the store `{path}`")
    with pytest.raises(StoreError):
        task.escalate()
    path.rmdir()
    assert task.escalate().state == "open"


def test_a_gate_without_a_queue_says_so() -> None:
    with pytest.raises(RuntimeError, match="load it with `escalations=`"):
        stuck(None).escalate()


# The command


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["escalations", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_the_command_lists_shows_claims_and_resolves(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task = stuck(path)
    made(task, "supplier_search", search({"supplier": "ACME", "model": "6204"}))
    task.admit("note", {})
    store = ("--store", str(path))
    name = queue(path).list()[0].id
    line = f"{name}  open  queue desk  task order-4711  1970-01-01 00:16:40 UTC\n"
    assert told(capsys, "list", *store) == (0, line, "")
    code, out, _ = told(capsys, "show", name, *store)
    assert (code, out.splitlines()[:3]) == (
        0,
        [line.rstrip(), "", "order-4711: incomplete, hand over to a person, queue `desk`"],
    )
    assert json.loads(told(capsys, "show", name, "--format", "json", *store)[1])["report"]["task"] == "order-4711"
    assert told(capsys, "claim", "--by", "anna", *store)[:2] == (
        0,
        line.replace("open", "claimed").rstrip() + "  claimed by anna\n",
    )
    assert told(capsys, "claim", name, "--by", "otto", *store) == (
        1,
        "",
        f"callgate: escalation `{name}` was claimed by `anna`\n",
    )
    assert told(capsys, "claim", "--by", "otto", *store) == (3, "", "callgate: nothing is open\n")
    code, out, _ = told(capsys, "resolve", name, "called them", "--by", "anna", *store)
    assert (code, out.endswith("  claimed by anna  anna: called them\n")) == (0, True)
    assert told(capsys, "list", *store) == (0, "", "callgate: there is no escalation in the state `open`\n")
    assert told(capsys, "list", "--queue", "q", "--state", "all", *store)[2] == (
        "callgate: there is no escalation in the queue `q`\n"
    )
    listed = json.loads(told(capsys, "list", "--state", "all", "--format", "json", *store)[1])
    assert [(each["id"], each["state"]) for each in listed] == [(name, "resolved")]


def test_the_command_tells_of_a_store_that_is_not_there_or_cannot_be_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CALLGATE_STORE", raising=False)
    said = "callgate: there is no store `callgate.db`: name one with `--store`\n"
    assert told(capsys, "list") == (2, "", said)
    (tmp_path / "x.db").write_bytes(b"nonsense" * 500)
    monkeypatch.setenv("CALLGATE_STORE", "x.db")
    code, _, err = told(capsys, "list")
    assert (code, "it is damaged, or no SQLite file" in err) == (2, True)
    assert told(capsys)[0] == 2
    Escalations(tmp_path / "y.db")
    assert told(capsys, "show", "e9", "--store", "y.db") == (1, "", "callgate: there is no escalation `e9`\n")
