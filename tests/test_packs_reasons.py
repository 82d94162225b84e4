"""Each reason has a page that keeps its word: one run fires the reason with these words, the other run does not."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from callgate import Gate, Verdict
from documents import blocks

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "reasons"
# Shown in Python on their pages: one is no verdict, since the agent is not started; one needs bindings, one a store.
WITHOUT_A_RUN = {"budget_depth", "store_failure", "unbound"}


def reasons() -> dict[str, str]:
    """The reasons of the engine and their codes."""
    source = (ROOT / "rust" / "core" / "src" / "reason.rs").read_text(encoding="utf-8")
    return dict(re.findall(r'^ +\w+ = "(\w+)", "(\w+)";$', source, re.MULTILINE))


def gate(run: dict[str, Any], room: Path) -> Gate:
    """The policy of a page's run, with its manifests."""
    spec = run["policy"] if isinstance(run["policy"], dict) else {"extends": [run["policy"]]}
    names = [f"page-{at}" for at, _ in enumerate(run.get("manifests", []))]
    head = {"apiVersion": "callgate/v1", "metadata": {"name": "page"}}
    documents = [{**head, "kind": "GuardPolicy", "spec": {**spec, **({"tools": names} if names else {})}}]
    for name, manifest in zip(names, run.get("manifests", []), strict=True):
        documents.append({**head, "kind": "ToolManifest", "metadata": {"name": name}, "spec": manifest})
    (room / "page.yaml").write_text(yaml.safe_dump_all(documents), encoding="utf-8")
    return Gate.load(room / "page.yaml", policy="page")


def played(run: dict[str, Any], room: Path) -> list[tuple[Verdict, list[tuple[str, str]]]]:
    """Each call's verdict, and what the model reads beside its result, as pairs of a reason and a text."""
    task = gate(run, room).task("page")
    steps = [step for step in run["steps"] for _ in range(step.get("times", 1))]
    told: list[tuple[Verdict, list[tuple[str, str]]]] = []
    while steps:
        now = steps[0].get("time", 0)
        if "event" in steps[0]:
            step = steps.pop(0)
            task.usage(tokens=step.get("tokens", 0), cost=step.get("cost", 0), now=now)
            continue
        turn = [steps.pop(0)]
        while steps and "round" in turn[0] and steps[0].get("round") == turn[0]["round"]:
            turn.append(steps.pop(0))
        verdicts = task.admit_all(turn, now=now)
        for step, verdict in zip(turn, verdicts, strict=True):
            notes = list(verdict.notes)
            if verdict.allowed:
                outcome = {key: step[key] for key in ("result", "error") if key in step}
                notes += task.observe(verdict.call_id, **outcome, now=now).notes
            told.append((verdict, [(note.reason, note.message) for note in notes]))
    return told


def said(reason: str, block: str, room: Path) -> tuple[str, str]:
    """How and with which words the last call of a run gets `reason` told: the words, and where the model reads them."""
    run = yaml.safe_load(re.sub(r"\A```yaml\n|```\n\Z", "", block))
    verdict, notes = played(run, room)[-1]
    if verdict.reply is not None:
        assert verdict.findings, verdict
        first = next(finding for finding in verdict.findings if finding.action == verdict.action)
        assert first.reason == reason or first.reason.startswith(f"{reason}:"), verdict.reasons
        return "instead of a result", json.loads(verdict.reply)["message"]
    return "beside the result", dict(notes)[reason]


def page(reason: str) -> Path:
    return PAGES / f"{reason}.md"


def test_every_reason_has_its_page_and_every_page_its_reason() -> None:
    assert len(reasons()) > 30
    assert {path.stem for path in PAGES.glob("*.md")} - {"README"} == set(reasons())


def test_the_index_names_every_page() -> None:
    index = (PAGES / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\]\((\w+)\.md\)", index)) == set(reasons())


@pytest.mark.parametrize("reason", sorted(reasons()))
def test_a_page_names_its_reason_and_its_code(reason: str) -> None:
    text = page(reason).read_text(encoding="utf-8")
    assert text.startswith(f"# {reason}\n")
    assert f"| code | `{reasons()[reason]}`" in text


@pytest.mark.parametrize("reason", sorted(set(reasons()) - WITHOUT_A_RUN))
def test_the_run_of_a_page_fires_the_reason_with_the_words_of_the_page(reason: str, tmp_path: Path) -> None:
    text = page(reason).read_text(encoding="utf-8")
    fires, words, _ = [block.text for block in blocks(text) if block.language in ("yaml", "text")]
    where, message = said(reason, fires, tmp_path)
    assert message == words.strip()
    assert f"At the last call the model reads, {where}:" in text


@pytest.mark.parametrize("reason", sorted(set(reasons()) - WITHOUT_A_RUN))
def test_the_nearest_healthy_run_of_a_page_is_left_alone(reason: str, tmp_path: Path) -> None:
    *_, alone = [block.text for block in blocks(page(reason).read_text(encoding="utf-8")) if block.language == "yaml"]
    found = set[str]()
    for verdict, notes in played(yaml.safe_load(alone), tmp_path):
        found.update(verdict.reasons)
        if not reason.startswith("budget_"):  # those note at 80 % and 95 %, which is no fault of the run
            found.update(noted for noted, _ in notes)
    assert reason not in {name.partition(":")[0] for name in found}
