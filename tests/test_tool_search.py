"""Searching tool definitions: the right one is among the first, whatever the words, and the tokens are told."""

import sqlite3
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.tools import DefinitionError, SearchError, ToolIndex, definitions_of
from callgate.tools.search import words_of
from catalogue import catalogue, questions

# How many of the questions of each file have to find their tool among the first three: of those that the search was
# improved on, and of those that were written when nothing was changed any more and asked once.
WANTED = {"questions.txt": 45, "questions_more.txt": 70, "questions_last.txt": 16}


@pytest.fixture(scope="module")
def index() -> ToolIndex:
    return ToolIndex.of(catalogue())


def among_first(index: ToolIndex, name: str, limit: int) -> list[str]:
    """The questions whose tool is not among the first."""
    return [
        f"{question} -> {tool}"
        for question, tool in questions(name)
        if tool not in [found.name for found in index.search(question, limit=limit).definitions]
    ]


def test_the_catalogue_has_two_hundred_tools_and_questions_about_most_of_them(index: ToolIndex) -> None:
    names = {definition.name for definition in index.definitions}
    asked = [pair for name in WANTED for pair in questions(name)]
    assert (len(index.definitions), len(names), [len(questions(name)) for name in WANTED]) == (200, 200, [50, 94, 25])
    assert {tool for _, tool in asked} <= names
    assert len({question for question, _ in asked}) == len(asked)


@pytest.mark.parametrize("name", WANTED)
def test_the_right_tool_is_among_the_first_three_for_most_questions(index: ToolIndex, name: str) -> None:
    count = len(questions(name))
    missed, beyond = among_first(index, name, 3), among_first(index, name, 5)
    print(f"{name}: {count - len(missed)} of {count} among the first three, {count - len(beyond)} among the first five")
    print("\n".join(f"  missed: {question}" for question in missed))
    assert count - len(missed) >= WANTED[name]


def test_tokens_before_and_after_are_told(index: ToolIndex) -> None:
    found = index.search("who still owes us money?", limit=5)
    print(f"before: {found.tokens_of_all} tokens, after: {found.tokens} tokens, saved: {found.saved}")
    assert found.tokens_of_all == sum(definition.tokens for definition in index.definitions)
    assert found.tokens == sum(definition.tokens for definition in found.definitions)
    assert (len(found.definitions), found.saved) == (5, found.tokens_of_all - found.tokens)


def few(*tools: tuple[str, str]) -> ToolIndex:
    return ToolIndex.of([{"name": name, "description": words, "input_schema": {}} for name, words in tools])


def names(index: ToolIndex, query: str, **options: Any) -> list[str]:
    return [found.name for found in index.search(query, **options).definitions]


def test_names_are_split_at_underscores_and_capitals() -> None:
    index = few(("getOrderHistory", "x"), ("order_ship_date", "x"), ("HTTPFetch", "x"), ("reorder", "x"))
    assert names(index, "history") == ["getOrderHistory"]
    assert names(index, "ship date") == ["order_ship_date"]
    assert names(index, "http") == ["HTTPFetch"]


def test_words_are_compared_by_their_stem() -> None:
    assert names(few(("a", "Cancels shipments."), ("b", "Paints walls.")), "cancelling a shipment") == ["a"]


def test_a_name_counts_more_than_a_description_and_that_more_than_a_parameter() -> None:
    parameter = {"type": "object", "properties": {"voyage": {"type": "string"}}}
    index = ToolIndex.of([
        {"name": "a", "description": "something else", "input_schema": parameter},
        {"name": "b", "description": "of a voyage", "input_schema": {}},
        {"name": "voyage", "description": "something", "input_schema": {}},
        *({"name": f"other_{at}", "description": "else", "input_schema": {}} for at in range(9)),
    ])  # fmt: skip
    assert names(index, "voyage") == ["voyage", "b", "a"]


def test_words_that_are_used_for_one_another_find_each_other() -> None:
    index = few(("a", "Blocks a supplier."), ("b", "Paints walls."), ("c", "Recorded what was said."))
    assert names(index, "vendor") == ["a"]
    assert names(index, "what did they say") == ["c"]


def test_what_is_wanted_always_comes_first_and_counts() -> None:
    index = few(("finish", "End."), ("get_weather", "Forecast of rain."), ("draw", "Pictures."))
    assert names(index, "rain", always=["finish"], limit=2) == ["finish", "get_weather"]
    assert names(index, "rain", always=["finish"], limit=1) == ["finish"]


def test_nothing_fits_where_no_word_has_to_do_with_anything(index: ToolIndex) -> None:
    for query in ("", "   ", "the of and", "xyzzy plugh", "?!…"):
        found = index.search(query)
        assert (found.definitions, found.tokens, found.saved) == ([], 0, found.tokens_of_all)


def test_chinese_is_found_by_pairs_of_signs() -> None:
    index = few(("a", "查询供应商的报价"), ("b", "发送电子邮件"))
    assert names(index, "我想看供应商") == ["a"]
    assert words_of("我想看") == ["我想", "想看"]


@given(query=st.text(max_size=200))
def test_no_query_breaks_the_search(query: str) -> None:
    SMALL.search(query)


@pytest.mark.parametrize("query", ['"', "name:weather", "a AND (b", "NEAR(a b)", "col*", "-weather", "weather OR"])
def test_the_search_engines_own_syntax_is_only_words(query: str) -> None:
    SMALL.search(query)


SMALL = few(("get_weather", "Forecast of rain."), ("send_mail", "Write to somebody."))


def test_half_a_character_in_a_definition_is_no_word() -> None:
    assert names(few(("draw\ud800ing", "A \udfff picture.")), "picture \ud800") == ["draw\ud800ing"]


def test_an_index_is_searched_from_any_thread(index: ToolIndex) -> None:
    told: list[list[str]] = []
    threads = [threading.Thread(target=lambda: told.append(names(index, "rain in Oslo", limit=1))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == [["get_weather"]] * 8


def test_a_search_finds_at_least_one() -> None:
    with pytest.raises(ValueError, match="`limit` is below 1"):
        SMALL.search("rain", limit=0)


def test_without_fts5_it_is_said_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Poor(sqlite3.Connection):
        def execute(self, *_: Any) -> Any:
            raise sqlite3.OperationalError("no such module: fts5")

    real = sqlite3.connect
    monkeypatch.setattr("sqlite3.connect", lambda *given, **options: real(*given, factory=Poor, **options))
    with pytest.raises(SearchError, match="tool search needs SQLite with FTS5, and this Python's has none"):
        few(("a", "b"))


@pytest.mark.parametrize(
    "tool",
    [
        {"type": "function", "function": {"name": "add", "description": "Two numbers.", "parameters": {"x": 1}}},
        {"type": "function", "name": "add", "description": "Two numbers.", "parameters": {"x": 1}},
        {"name": "add", "description": "Two numbers.", "input_schema": {"x": 1}},
        {"name": "add", "description": "Two numbers.", "inputSchema": {"x": 1}},
    ],
)
def test_definitions_of_every_shape_are_read(tool: dict[str, Any]) -> None:
    (found,) = definitions_of([tool])
    assert (found.name, found.description, found.parameters, found.raw) == ("add", "Two numbers.", {"x": 1}, tool)


@pytest.mark.parametrize("tool", [None, "add", {}, {"name": ""}, {"function": {}}, {"function": {"name": 7}}])
def test_what_is_no_definition_is_refused(tool: Any) -> None:
    with pytest.raises(DefinitionError, match=r"tools\[0\] is no definition of a tool: it has no `name`"):
        definitions_of([tool])
