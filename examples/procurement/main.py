"""The supplier story: a model that would search for ever, guarded by the pack `procurement`.

python examples/procurement/main.py                  the price comes from the substitute
python examples/procurement/main.py --no-quotes      nobody quotes: the gaps are named
python examples/procurement/main.py --no-models      essential fields are missing: a person goes on
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from scripted_buyer import ScriptedBuyer
from supplier_database import make
from tool_server import ToolServer, client

from callgate import Gate, Task
from callgate.report.outcome import render
from callgate.stores.escalations import Escalations

PATIENCE = 40
"""Calls after which the example gives up on its own guard."""


def run(task: Task, url: str, buyer: ScriptedBuyer) -> None:
    """Let the model work until its task is complete or stopped, and hand the quotation in if there is one."""
    call = client(url)
    for _ in range(PATIENCE):
        wanted = buyer.next_call()
        verdict = task.admit(wanted.tool, wanted.arguments)
        print(f"{verdict.action:<7} {wanted.tool} {json.dumps(wanted.arguments)}")
        if verdict.allowed:
            result = call(verdict.tool, verdict.arguments)
            assessment = task.observe(verdict.call_id, result=result)
            for note in assessment.notes:
                print(f"        note: {note.message}")
            buyer.read(json.dumps(result))
        else:
            assert verdict.reply is not None
            print(f"        {json.loads(verdict.reply)['message']}")
            buyer.read(verdict.reply)
        report = task.report()
        if report["status"] == "complete" or task.stop is not None:
            break
    if report["exit"] != "escalate":
        hand_in(task, call)


def hand_in(task: Task, call: Any) -> None:
    """Hand in what is known, and say what is missing."""
    report = task.report()
    [need] = report["needs"]
    lines = [{name: cell["value"] for name, cell in record["fields"].items()} for record in need["records"]]
    missing = [f"{(key or ['another supplier'])[0]}: {name}" for key, name in report["missing"]]
    # the policy keeps one call back for this, so that it runs after a stop too
    verdict = task.admit("submit_quotation", {"lines": lines, "missing": missing})
    task.observe(verdict.call_id, result=call(verdict.tool, verdict.arguments))


def main(argv: list[str]) -> int:
    """Run the story, and print the report; 0 if there is a quotation, 1 if a person has to go on."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-quotes", action="store_true", help="nobody quotes a price")
    parser.add_argument("--no-models", action="store_true", help="no supplier says which model it sells, nobody quotes")
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        quotes = not (arguments.no_quotes or arguments.no_models)
        server = ToolServer(make(Path(folder) / "suppliers.db", quotes=quotes, models=not arguments.no_models))
        desk = Path(folder) / "desk.db"
        task = Gate.load("procurement", escalations=desk).task("quotation-17")
        with server as url:
            run(task, url, ScriptedBuyer())
        print(f"\n{render(task.report())}")
        if server.quotation is not None:
            print("quotation:")
            for line in server.quotation["lines"]:
                print(f"  {json.dumps(line)}")
            for gap in server.quotation["missing"]:
                print(f"  missing: {gap}")
        for waiting in Escalations(desk).list():
            print(f"waiting for a person: {waiting.task} in `{waiting.queue}`")
    return 0 if server.quotation is not None else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
