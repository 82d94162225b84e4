"""`callgate report`: one session as a page: repeats, curves, budgets, needs and exit, by hand for a short run."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from callgate.cli.main import main
from callgate.policy.open import open_policy
from callgate.traces.recorded import recorded_session
from callgate.traces.session_report import Point, Repeat, SessionReport, session_report
from test_diff_html import HOSTILE, Reader, self_contained

POLICY = """\
apiVersion: callgate/v1
kind: GuardPolicy
metadata: {name: parts, revision: "3"}
spec:
  tools: [parts-tools]
  budgets: {steps: 8, tool_calls: 4, tokens: 1000}
  time: {task: 1h}
  detectors: {exact_repeat: {note_after: 2}}
  needs:
    - {id: price, from: [find], key: [part], fields: [part, price], min_records: 2}
---
apiVersion: callgate/v1
kind: ToolManifest
metadata: {name: parts-tools}
spec:
  tools:
    find: {effect: read, result: {records: result.items, key: [part]}}
"""


def written(folder: Path, records: list[dict[str, Any]]) -> Path:
    (folder / "policy.yaml").write_text(POLICY, encoding="utf-8")
    path = folder / "run.jsonl"
    path.write_text("".join(json.dumps({"session": "s", **record}) + "\n" for record in records), encoding="utf-8")
    return path


def find(word: str, *items: dict[str, Any]) -> dict[str, Any]:
    return {"tool": "find", "arguments": {"word": word}, "result": {"items": list(items)}}


RUN = [
    find("a", {"part": "a", "price": 1}),
    find("b", {"part": "b"}),
    find("b", {"part": "b"}),
    {"event": "user_turn", "by": "human", "text": "well?"},
    find("b", {"part": "b"}),
    find("c", {"part": "b", "price": 2}),
]


def judged(folder: Path) -> SessionReport:
    path = written(folder, RUN)
    policy = open_policy(str(folder / "policy.yaml")).compiled
    assert policy is not None
    return session_report(policy, recorded_session(path))


def test_a_session_is_followed_call_by_call(tmp_path: Path):
    found = judged(tmp_path)
    left = [(8 - call) / 8 for call in range(1, 6)]
    calls = [0.75, 0.5, 0.25, 0.0, 0.0]  # the fifth is refused: four calls were all
    # a | a b | a b b | a b b b | a b b b c, each by its shares
    entropy = [0.0, 1.0, math.log2(3) - 2 / 3, 2 - 0.75 * math.log2(3), -(0.6 * math.log2(0.6) + 0.4 * math.log2(0.2))]
    distinct = [1.0, 1.0, 2 / 3, 0.5, 0.6]
    rows = zip((1, 2, 3, 5, 6), entropy, distinct, (1, 1, 0, 0, 0), (2, 1, 0, 0, 0), left, calls, strict=True)
    near = pytest.approx
    expected = [
        Point(
            seq, "refuse" if seq == 6 else "allow", near(bits), near(share), gain, cells,
            {"steps": near(steps), "tool_calls": near(rest), "tokens": 1.0},
        )
        for seq, bits, share, gain, cells, steps, rest in rows
    ]  # fmt: skip
    assert found.points == expected
    assert found.repeats == {3: Repeat(2, 2), 5: Repeat(2, 3)}
    assert found.findings[6] == ["budget_tool_calls"]
    assert found.limits == {"steps": 8.0, "tool_calls": 4.0, "tokens": 1000.0}
    assert [field for _, field in found.missing] == ["price"]
    assert [step.event for step in found.steps if step.event] == ["user_turn by human: well?"]


def test_the_page_has_curves_marks_and_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = written(tmp_path, RUN)
    assert main(["report", str(path), "--policy", str(tmp_path / "policy.yaml")]) == 0
    html = capsys.readouterr().out
    read = self_contained(html)
    words = " ".join(" ".join(read.texts).split())
    for said in (
        "Session s",
        "3 of 4 cells filled",
        "steps (8)",
        "3rd time, as call 2",
        "user_turn by human: well?",
        "price",
    ):
        assert said in words, said
    links = [value for name, value in read.attributes if name == "href" and value != "data:,"]
    ids = {f"#{value}" for name, value in read.attributes if name == "id"}
    assert set(links) <= ids
    assert len(re.findall(r'<line [^>]*class="mark"/>', html)) == 5  # one refusal in each of five figures


def test_hostile_names_and_results_are_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    record = {"session": HOSTILE, "tool": HOSTILE, "arguments": {HOSTILE: HOSTILE}, "result": HOSTILE + "\nnext"}
    failing = {**record, "error": {"type": HOSTILE, "message": HOSTILE}, "result": None}
    path = written(
        tmp_path, [record, failing, {"session": HOSTILE, "event": "user_turn", "by": HOSTILE, "text": HOSTILE}]
    )
    assert main(["report", str(path), "--policy", "default"]) == 0
    html = capsys.readouterr().out
    self_contained(html)
    assert "\x1b" not in html
    assert "\u202e" not in html
    assert any("onerror=alert(1)" in part for part in Reader(html).texts)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "required"),
        (["run.jsonl"], 2, "--policy"),
        (["nowhere.jsonl", "--policy", "default"], 2, "no such file"),
        (["run.jsonl", "--policy", "no-such-pack"], 2, "no such file or folder, and no such pack"),
        (["run.jsonl", "--policy", "default", "--session", "x"], 2, "there is no session `x`"),
        (["run.jsonl", "--policy", "default", "--format", "text"], 2, "invalid choice"),
        (["empty.jsonl", "--policy", "default"], 3, "there is no call in this session"),
    ],
)
def test_what_cannot_be_told_has_its_exit_code(
    arguments: list[str], code: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):  # fmt: skip
    written(tmp_path, RUN)
    (tmp_path / "empty.jsonl").write_text('{"session":"s","event":"compaction"}\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["report", *arguments]) == code
    assert said in capsys.readouterr().err
