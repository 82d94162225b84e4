"""The conversation of a task: mended and compacted before each request, and the task is told."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from callgate import Gate
from callgate.messages import LOST, CompactionError, FuseOpen
from callgate.runtime.conversation import Conversation
from message_lists import asked, said, told


def words(messages: Sequence[Any]) -> int:
    return 10 * len(messages)


def chat(turns: int) -> list[Any]:
    messages = [said("Go.")]
    for number in range(turns):
        messages += [asked((f"c{number}", "read", f'{{"page": {number}}}')), told(f"c{number}", f"page {number}")]
    return messages


def same_call_until_noted(task: Any) -> int:
    """How often the same call with the same result can be made until it is noted."""
    for times in range(1, 9):
        verdict = task.admit("read", {"page": 1})
        if task.observe(verdict.call_id, result="page 1").notes:
            return times
    return 0


def test_a_list_that_fits_is_mended_and_the_task_is_told_nothing() -> None:
    task = Gate.load("default").task("t")
    conversation = Conversation(task, limit=100, count_tokens=words)
    assert conversation.ready(chat(1)[:-1]) == [*chat(1)[:-1], told("c0", LOST)]
    assert conversation.compacted == 0


def test_a_compaction_is_told_to_the_task_which_forgets_its_repeats() -> None:
    task = Gate.load("default").task("t")
    for _ in range(2):
        verdict = task.admit("read", {"page": 1})
        task.observe(verdict.call_id, result="page 1")
    conversation = Conversation(task, limit=60, count_tokens=words, summary=lambda: "Page 1 is known.")
    ready = conversation.ready(chat(6))
    assert any("Page 1 is known." in str(message["content"]) for message in ready)
    assert conversation.compacted == 1
    assert same_call_until_noted(task) == 3  # and not at once: the model may have lost the answers


def test_failures_count_over_the_whole_conversation() -> None:
    conversation = Conversation(Gate.load("default").task("t"), limit=10, count_tokens=words, failures=2)
    for _ in range(2):
        with pytest.raises(CompactionError, match="what has to stay"):
            conversation.ready(chat(3))
    with pytest.raises(FuseOpen):
        conversation.ready(chat(3))


def test_a_summary_may_be_awaited() -> None:
    async def summarise(gone: Sequence[Any], most: int) -> str:
        return f"{len(gone)} messages"

    conversation = Conversation(Gate.load("default").task("t"), limit=60, count_tokens=words, summarise=summarise)
    ready = asyncio.run(conversation.ready_async(chat(6)))
    assert any(str(message["content"]).endswith(" messages") for message in ready)
