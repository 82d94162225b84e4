"""The supplier story runs as its page says: against a real database and tool server, with each of its three ends."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from callgate import Gate
from callgate.stores.escalations import Escalations

LINES = [
    {"supplier": "ACME", "model": "6204", "unit_price": 3.1, "lead_time": 4, "valid_until": "2027-01-31"},
    {"supplier": "Brenner", "model": "6204", "unit_price": 2.9, "lead_time": 12, "valid_until": "2027-01-31"},
    {"supplier": "Corvin", "model": "6204", "unit_price": 3.4, "lead_time": 2, "valid_until": "2027-02-28"},
]


@pytest.fixture(autouse=True)
def examples(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(root / "examples" / "procurement"))


def played(folder: Path, **data: bool) -> tuple[Any, dict[str, Any], Escalations]:
    """Play the story; the server, the report and the queue."""
    database: Any = import_module("supplier_database")
    server: Any = import_module("tool_server")
    buyer: Any = import_module("scripted_buyer")
    main: Any = import_module("main")
    tools = server.ToolServer(database.make(folder / "suppliers.db", **data))
    task = Gate.load("procurement", escalations=folder / "desk.db").task("quotation-17")
    with tools as url:
        main.run(task, url, buyer.ScriptedBuyer())
    return tools, task.report(), Escalations(folder / "desk.db")


def test_the_price_comes_from_the_substitute(tmp_path: Path) -> None:
    server, report, queue = played(tmp_path)
    assert server.asked == {"supplier_search": 4, "quote_search": 3, "submit_quotation": 1}
    assert server.quotation == {"lines": LINES, "missing": []}
    assert (report["status"], report["cells"], queue.list()) == ("complete", {"filled": 15, "all": 15}, [])
    [need] = report["needs"]
    assert all(record["fields"]["unit_price"]["substitute"] for record in need["records"])


def test_the_first_search_is_four_of_fifteen_cells(tmp_path: Path) -> None:
    _, report, _ = played(tmp_path)
    assert [call.get("cells") for call in report["calls"][:5]] == [4, 2, 0, 0, None]
    assert report["calls"][4]["action"] == "refuse"


def test_where_nobody_quotes_the_quotation_names_its_gaps(tmp_path: Path) -> None:
    server, report, queue = played(tmp_path, quotes=False)
    names = ("unit_price", "lead_time", "valid_until")
    missing = [f"{supplier}: {name}" for supplier in ("ACME", "Brenner", "Corvin") for name in names]
    assert server.quotation is not None
    assert server.quotation["missing"] == missing
    assert (report["status"], report["exit"], queue.list()) == ("partial", "finish_with_gaps", [])
    assert sum(server.asked.values()) <= 8


def test_where_essential_fields_are_missing_a_person_gets_it_with_the_evidence(tmp_path: Path) -> None:
    server, report, queue = played(tmp_path, quotes=False, models=False)
    assert (server.quotation, report["status"], report["exit"]) == (None, "incomplete", "escalate")
    [waiting] = queue.list(queue="procurement-desk")
    told = queue.get(waiting.id).report
    assert (told["stop"]["reason"], len(told["missing"]), told["cells"]["filled"]) == ("no_gain", 12, 3)
    assert [call["tool"] for call in told["calls"]][:2] == ["supplier_search", "supplier_search"]
    assert told["calls"][0]["result"]["items"][0] == {"supplier": "ACME", "model": None}


def test_without_a_guard_it_would_go_on_for_ever(tmp_path: Path) -> None:
    buyer: Any = import_module("scripted_buyer")
    model = buyer.ScriptedBuyer()
    wanted = []
    for _ in range(100):
        wanted.append(model.next_call())
        model.read('{"items": [{"supplier": "ACME", "model": "6204"}]}')
    assert {call.tool for call in wanted} == {"supplier_search"}
    assert len({call.arguments["keyword"] for call in wanted}) == 100


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ([], 0, "quotation-17: complete\n"),
        (["--no-quotes"], 0, "  missing: ACME: unit_price\n"),
        (["--no-models"], 1, "waiting for a person: quotation-17 in `procurement-desk`\n"),
    ],
)
def test_one_command_runs_it(root: Path, arguments: list[str], code: int, says: str) -> None:
    program = str(root / "examples" / "procurement" / "main.py")
    done = subprocess.run([sys.executable, program, *arguments], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (code, "")
    assert says in done.stdout
