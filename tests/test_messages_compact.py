"""Making message lists shorter: pairs stay whole, the limit holds, and a fuse ends what does not work."""

import asyncio
import copy
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.messages import LOST, Compacted, CompactionError, Fuse, FuseOpen, compact, compact_async, inspect, passes
from callgate.messages.compact import estimated
from message_lists import asked, model, result, said, told, use, user
from test_messages_repair import LISTS

HEAD = "Earlier messages of this conversation were taken out to save room."


def words(messages: Sequence[Any]) -> int:
    """A count that is worked out by hand: ten a message."""
    return 10 * len(messages)


def chat(turns: int) -> list[Any]:
    """A system prompt, a request, and turns of a call with its result: 2 + 2 × turns messages."""
    messages = [said("You help.", "system"), said("Sum it all up.")]
    for number in range(turns):
        messages += [asked((f"c{number}", "read", f'{{"page": {number}}}')), told(f"c{number}", f"page {number}")]
    return messages


def test_a_list_within_its_limit_stays_as_it_is() -> None:
    messages = chat(2)
    assert compact(messages, limit=60, count_tokens=words) == Compacted(messages, [], 60, 60)


def test_whole_turns_go_and_a_summary_comes_in_their_place() -> None:
    messages = chat(6)
    before = copy.deepcopy(messages)
    # 14 messages, limit 100: three quarters are 75. System 1, mark 1, request 1, and two turns of 2 are 70.
    done = compact(messages, limit=100, count_tokens=words, keep_turns=1, summary="Pages 0 to 3 are known.")
    mark = said(f"{HEAD}\n\nPages 0 to 3 are known.")
    assert done == Compacted([*messages[:2], mark, *messages[10:]], messages[2:10], 70, 140)
    assert messages == before


def test_the_last_turns_stay_before_older_ones_are_thought_of() -> None:
    messages = chat(6)
    # three turns of the end, the system and the mark take 80 of 100: no room for the request within three quarters
    done = compact(messages, limit=100, count_tokens=words, keep_turns=3)
    assert done.messages == [messages[0], said(HEAD), *messages[8:]]


def test_fewer_of_the_last_turns_stay_where_they_do_not_fit() -> None:
    messages = chat(6)
    done = compact(messages, limit=45, count_tokens=words, keep_turns=3)
    assert done.messages == [messages[0], said(HEAD), *messages[12:]]


def test_a_parallel_turn_goes_or_stays_whole() -> None:
    turn = [model(use("t1", "a"), use("t2", "b")), user(result("t1", "1"), result("t2", "2"))]
    messages = [said("Go."), *turn, model(use("t3", "c")), user(result("t3", "3"))]
    done = compact(messages, limit=40, count_tokens=words, keep_turns=1)
    assert done.dropped == [messages[0], *turn]
    assert done.messages == [said(HEAD), *messages[3:]]


def test_a_thought_and_what_came_of_it_go_or_stay_together() -> None:
    thought, words_ = {"type": "reasoning", "id": "r1", "summary": []}, said("Twelve.", "assistant")
    messages = [said("How many?"), thought, words_, said("And now?"), {**thought, "id": "r2"}, words_]
    done = compact(messages, limit=50, count_tokens=words, keep_turns=1, shape="openai_responses")
    assert done.messages[-2:] == messages[-2:]
    assert thought in done.dropped
    assert words_ in done.dropped


def test_a_picture_counts_as_one_and_not_by_its_bytes() -> None:
    def picture(data: str) -> Any:
        source = {"type": "base64", "media_type": "image/png", "data": data}
        return user({"type": "image", "source": source})

    small, large = estimated([picture("")]), estimated([picture("iVBORw0K" * 50_000)])
    assert large == small + 1600
    url = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 9_000}}
    assert estimated([user(url)]) < 1700
    assert estimated([said("word " * 1000)]) > 1250


def test_a_torn_list_is_mended_first() -> None:
    messages = [told("c0", "left over"), *chat(1)[:-1]]
    done = compact(messages, limit=100, count_tokens=words)
    assert done.messages == [*chat(1)[:-1], told("c0", LOST)]


def test_the_host_makes_the_summary_of_exactly_what_goes_within_the_room_that_is_left() -> None:
    asked_for: list[tuple[list[Any], int]] = []

    def summarise(gone: Sequence[Any], most: int) -> str:
        asked_for.append((list(gone), most))
        return "Nothing happened."

    messages = chat(6)
    done = compact(messages, limit=100, count_tokens=words, keep_turns=1, summarise=summarise, summary="Known: 4.")
    assert asked_for == [(messages[2:10], 23)]  # 100 − 70 taken − 4 for the message, and a tenth of that as a margin
    assert done.messages[2] == said(f"{HEAD}\n\nKnown: 4.\n\nNothing happened.")


def test_nobody_is_asked_for_a_summary_where_nothing_goes() -> None:
    def never(gone: Sequence[Any], most: int) -> str:
        raise AssertionError("asked")

    assert compact(chat(1), limit=100, count_tokens=words, summarise=never).dropped == []


def test_a_summary_that_is_awaited() -> None:
    async def summarise(gone: Sequence[Any], most: int) -> str:
        await asyncio.sleep(0)
        return f"{len(gone)} messages"

    done = asyncio.run(compact_async(chat(6), limit=100, count_tokens=words, keep_turns=1, summarise=summarise))
    assert done.messages[2] == said(f"{HEAD}\n\n8 messages")


def test_what_has_to_stay_and_does_not_fit_is_a_failure() -> None:
    with pytest.raises(CompactionError, match="what has to stay takes 40 tokens, and the limit is 30"):
        compact(chat(6), limit=30, count_tokens=words)


def test_three_failures_in_a_row_open_the_fuse_and_nobody_is_asked_any_more() -> None:
    fuse, times = Fuse(), []

    def broken(gone: Sequence[Any], most: int) -> str:
        times.append(most)
        raise TimeoutError("30 s")

    for failures in (1, 2, 3):
        with pytest.raises(CompactionError, match="the summary could not be made: 30 s") as raised:
            compact(chat(6), limit=100, count_tokens=words, summarise=broken, fuse=fuse)
        assert isinstance(raised.value.__cause__, TimeoutError)
        assert (fuse.failures, fuse.open) == (failures, failures == 3)
    with pytest.raises(FuseOpen, match="compaction failed 3 times in a row"):
        compact(chat(6), limit=100, count_tokens=words, summarise=broken, fuse=fuse)
    assert len(times) == 3


def test_a_success_closes_the_row_of_failures() -> None:
    fuse = Fuse()
    with pytest.raises(CompactionError):
        compact(chat(6), limit=30, count_tokens=words, fuse=fuse)
    compact(chat(6), limit=100, count_tokens=words, fuse=fuse)
    assert fuse.failures == 0


def test_a_summary_that_is_too_long_is_a_failure() -> None:
    def count(messages: Sequence[Any]) -> int:
        return sum(len(str(message.get("content"))) for message in messages)

    with pytest.raises(CompactionError, match="the summary is too long: the list takes"):
        compact(chat(40), limit=200, count_tokens=count, summarise=lambda gone, most: "x" * 500)


def test_a_count_that_takes_more_for_the_whole_than_for_its_parts_is_kept_to() -> None:
    def steep(messages: Sequence[Any]) -> int:
        return len(messages) ** 2

    done = compact(chat(9), limit=50, count_tokens=steep)
    assert done.tokens == len(done.messages) ** 2 <= 50
    assert passes(inspect(done.messages))


@pytest.mark.parametrize("shape", LISTS)
@given(data=st.data(), limit=st.integers(1, 400), keep=st.integers(0, 4), spoken=st.integers(0, 300))
def test_what_is_compacted_passes_and_is_within_its_limit_or_the_fuse_opens(
    shape: str, data: st.DataObject, limit: int, keep: int, spoken: int
) -> None:
    messages = data.draw(LISTS[shape])
    fuse = Fuse()

    def summarise(gone: Sequence[Any], most: int) -> str:
        if spoken > 250:
            raise RuntimeError("the model is down")
        return "s" * (4 * min(spoken, most) if spoken <= 200 else 8 * limit)

    for _ in range(3):
        try:
            done = compact(
                messages, limit=limit, keep_turns=keep, shape=shape, summarise=summarise, summary="Known.", fuse=fuse
            )
        except CompactionError:
            continue
        assert done.tokens <= limit
        assert passes(inspect(done.messages, shape=shape))
        assert not fuse.open
        return
    assert fuse.open
    with pytest.raises(FuseOpen):
        compact(messages, limit=limit, shape=shape, fuse=fuse)
