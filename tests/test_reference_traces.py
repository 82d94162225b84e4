"""The slow engine over a strong agent's 500 recorded runs, as the policy language tells of them."""

import gzip
import json
from itertools import groupby
from pathlib import Path

import pytest

from specification.replay import replay
from test_reference_cases import DEFAULT


@pytest.mark.slow
def test_refuses_in_the_one_run_that_two_readers_labelled_a_loop(shared: Path) -> None:
    with gzip.open(shared / "traces" / "mini_swe_gemini3pro.jsonl.gz", "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    labels = json.loads((shared / "traces" / "labels.json").read_text(encoding="utf-8"))
    loops = [each["session"] for each in labels if each["dataset"] == "mini_swe_gemini3pro" and each["label"] == "loop"]
    refused = [
        session
        for session, run in groupby(records, key=lambda record: record["session"])
        if any(judged.action in ("refuse", "reuse", "stop") for judged in replay(list(run), DEFAULT, []))
    ]
    assert refused == loops
