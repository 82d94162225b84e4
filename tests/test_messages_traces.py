"""Recorded runs of a strong agent, written as message lists: in order to begin with, and mended after being torn."""

import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from callgate.messages import compact, inspect, passes, repair
from message_lists import Message, asked, model, result, said, told, use, user

RUNS = "mini_swe_gemini3pro.jsonl.gz"


def sessions(shared: Path) -> Iterator[list[dict[str, Any]]]:
    """The recorded calls, a list for each session."""
    calls: dict[str, list[dict[str, Any]]] = {}
    with gzip.open(shared / "traces" / RUNS) as lines:
        for line in lines:
            record = json.loads(line)
            if "event" not in record:
                calls.setdefault(record["session"], []).append(record)
    yield from calls.values()


def as_chat(calls: list[dict[str, Any]]) -> list[Message]:
    messages = [said("Fix it.")]
    for number, call in enumerate(calls):
        messages.append(asked((f"c{number}", call["tool"], json.dumps(call["arguments"]))))
        messages.append(told(f"c{number}", text(call)))
    return messages


def as_anthropic(calls: list[dict[str, Any]]) -> list[Message]:
    messages = [said("Fix it.")]
    for number, call in enumerate(calls):
        messages.append(model(use(f"t{number}", call["tool"], **call["arguments"])))
        messages.append(user(result(f"t{number}", text(call))))
    return messages


def text(call: dict[str, Any]) -> str:
    found = call.get("result")
    return found if isinstance(found, str) else json.dumps(found)


@pytest.mark.slow
def test_healthy_runs_have_no_error_and_few_warnings(shared: Path) -> None:
    runs = [inspect(as_chat(calls)) for calls in sessions(shared)]
    kinds = [{found.kind for found in findings} for findings in runs]
    repeated = sum("repeated_call" in found for found in kinds)
    print(f"{len(runs)} runs, {repeated} with a repeated call, nothing else")
    assert len(runs) == 500
    assert set().union(*kinds) <= {"repeated_call"}
    # a call with the same result again, nothing new in between: real, and rare in healthy runs
    assert repeated <= 25


@pytest.mark.slow
@pytest.mark.parametrize("shape", [as_chat, as_anthropic])
def test_torn_runs_are_mended_and_compacted(shared: Path, shape: Any) -> None:
    draw = random.Random(8)
    for calls in list(sessions(shared))[:60]:
        messages = shape(calls)
        torn = [message for message in messages[draw.randrange(4) :] if draw.random() > 0.05]
        late = torn[-6:]
        draw.shuffle(late)
        torn[-6:] = late
        assert passes(inspect(repair(torn)))
        done = compact(torn, limit=8_000, summary="What is known.")
        assert done.tokens <= 8_000
        assert passes(inspect(done.messages))
        assert done.before <= 8_000 or any("What is known." in str(message["content"]) for message in done.messages[:2])
