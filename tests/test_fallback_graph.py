"""What is said at load of fallback edges: cycles, what is never taken, substitutes that do more or are guarded less."""

from pathlib import Path
from typing import Any

import pytest

from callgate import _core
from documents import blocks
from schema_samples import data
from sufficiency import documents

READ = {"effect": "read", "result": {"records": "result"}}
SHELL = {"type": "object", "required": ["c"], "properties": {"c": {"type": "string"}}}
TOOLS = {
    "supplier_search": READ,
    "quote_search": READ,
    "catalogue": READ,
    "save_quote": {"effect": "write"},
    "order": {"effect": "external"},
    "shell": {"effect": "read", "parameters": SHELL, "forms": [{"when": 'args.c == "rm"', "effect": "write"}]},
}


def told(spec: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Code, place and message of each fault."""
    _, faults = _core.compile_policy(*documents(spec, TOOLS))
    return [(fault.code, "/".join(map(str, fault.pointer[1:])), fault.message) for _, fault in faults]


def edges(*pairs: tuple[str, str], **keys: Any) -> dict[str, Any]:
    return {"fallback": {"edges": [{"from": start, "to": end} for start, end in pairs], **keys}}


@pytest.mark.parametrize(
    ("pairs", "place", "path"),
    [
        ([("order", "order")], "fallback/edges/0/to", "`order` → `order`"),
        (
            [("supplier_search", "quote_search"), ("quote_search", "supplier_search")],
            "fallback/edges/1/to",
            "`supplier_search` → `quote_search` → `supplier_search`",
        ),
        (
            [("supplier_search", "quote_search"), ("quote_search", "catalogue"), ("catalogue", "quote_search")],
            "fallback/edges/2/to",
            "`quote_search` → `catalogue` → `quote_search`",
        ),
    ],
)
def test_a_cycle_is_an_error_with_its_whole_path(pairs: list[tuple[str, str]], place: str, path: str) -> None:
    assert told(edges(*pairs)) == [("CG431", place, f"the edges go round: {path}")]


def test_a_diamond_is_no_cycle() -> None:
    ends = [("supplier_search", "quote_search"), ("supplier_search", "catalogue"), ("quote_search", "catalogue")]
    assert told(edges(*ends)) == []


def test_tools_and_providers_of_one_name_are_different_places() -> None:
    spec: dict[str, Any] = {"fallback": {"edges": [{"from": "supplier_search", "to": "catalogue"}]}}
    spec["fallback"]["edges"].append({"kind": "provider", "from": "catalogue", "to": "supplier_search"})
    assert told(spec) == []


def test_edges_that_the_order_does_not_try_are_errors() -> None:
    spec = edges(("supplier_search", "quote_search"), order=["cache", "skip"])
    spec["fallback"]["edges"].append({"kind": "provider", "from": "a", "to": "b"})
    assert [(code, place) for code, place, _ in told(spec)] == [
        ("CG432", "fallback/edges/0"),
        ("CG432", "fallback/edges/1"),
    ]


CHAIN = (("supplier_search", "quote_search"), ("quote_search", "catalogue"))


@pytest.mark.parametrize(
    ("keys", "unreached"),
    [
        ({"max_hops": 0}, [0, 1]),
        ({"max_hops": 1}, []),  # the model may begin with `quote_search`
        ({"max_hops": 1, "closed": True}, [1]),
        ({"max_hops": 2, "closed": True}, []),
    ],
)
def test_edges_beyond_the_last_hop_are_errors(keys: dict[str, Any], unreached: list[int]) -> None:
    assert [place for code, place, _ in told(edges(*CHAIN, **keys)) if code == "CG432"] == [
        f"fallback/edges/{index}" for index in unreached
    ]


def test_an_edge_that_a_shorter_path_comes_to_is_reached() -> None:
    ends = (*CHAIN, ("supplier_search", "catalogue"))
    more = edges(*ends, ("catalogue", "shell"), max_hops=2, closed=True)
    assert [code for code, _, _ in told(more)] == ["CG434"]


def test_more_hops_than_edges_is_a_warning() -> None:
    message = "3 hops cannot be used up: there are 2 edges, and the longest path is "
    path = "`supplier_search` → `quote_search` → `catalogue`"
    assert told(edges(*CHAIN, max_hops=3)) == [("CG433", "fallback/max_hops", message + path)]
    assert told(edges(*CHAIN)) == told(edges(*CHAIN, max_hops=2)) == []


@pytest.mark.parametrize(
    ("pairs", "found"),
    [
        ([("supplier_search", "save_quote")], ["`supplier_search` → `save_quote`"]),
        ([("supplier_search", "shell")], ["`supplier_search` → `shell`"]),  # one of its forms writes
        ([("save_quote", "supplier_search")], []),
        ([("save_quote", "order")], ["`save_quote` → `order`"]),
        (
            [("supplier_search", "quote_search"), ("quote_search", "order")],
            ["`supplier_search` → `quote_search` → `order`"],
        ),
        # each step is small, the whole is not
        (
            [("supplier_search", "save_quote"), ("save_quote", "order")],
            ["`supplier_search` → `save_quote`", "`supplier_search` → `save_quote` → `order`"],
        ),
    ],
)
def test_a_substitute_that_may_do_more_is_an_error_with_the_path(
    pairs: list[tuple[str, str]], found: list[str]
) -> None:
    messages = [message for code, _, message in told(edges(*pairs)) if code == "CG434"]
    assert [message.partition("only ")[2].partition(": ")[2] for message in messages] == found


def test_guards_that_the_substitute_lacks_are_warnings() -> None:
    spec = {
        **edges(("supplier_search", "quote_search")),
        "budgets": {"steps": 5, "tokens": 5, "calls_per_tool": {"supplier_search": 3}},
        "rules": [
            {"id": "mine", "tools": ["supplier_search"], "when": "true", "action": "ask"},
            {"id": "both", "tools": ["supplier_search", "quote_search"], "when": "true", "action": "refuse"},
            {"id": "all", "when": "true", "action": "refuse"},
            {"id": "note", "tools": ["supplier_search"], "when": "true", "action": "note"},
        ],
    }
    after = " holds for `supplier_search`, and not for its substitute: `supplier_search` → `quote_search`"
    assert told(spec) == [
        ("CG435", "fallback/edges/0/to", "the rule `mine`" + after),
        ("CG435", "fallback/edges/0/to", "a limit of `calls_per_tool`" + after),
    ]


def test_names_that_no_manifest_has_are_warnings() -> None:
    spec = {
        **edges(("supplier_search", "quote_serch")),
        "needs": [{"id": "a", "from": ["suplier_search"], "fields": ["x"]}, {"id": "b", "from": [], "fields": ["x"]}],
    }
    assert [(code, place) for code, place, _ in told(spec)] == [
        ("CG421", "needs/0/from/0"),
        ("CG430", "needs/1"),
        ("CG421", "fallback/edges/0/to"),
    ]


def test_a_graph_of_many_edges_is_judged_at_once() -> None:
    names = [f"p{n}" for n in range(40)]
    every = [{"kind": "provider", "from": a, "to": b} for i, a in enumerate(names) for b in names[i + 1 :]]
    assert told({"fallback": {"edges": every}}) == []
    assert len(told({"fallback": {"edges": [*every, {"kind": "provider", "from": "p39", "to": "p0"}]}})) >= 1


@pytest.mark.parametrize("code", ["CG430", "CG431", "CG432", "CG433", "CG434", "CG435"])
def test_the_wrong_example_of_a_page_has_that_fault_and_the_right_one_none(root: Path, code: str) -> None:
    page = (root / "docs" / "diagnostics" / f"{code}.md").read_text(encoding="utf-8")
    wrong, right = [data(block.text) for block in blocks(page) if block.language == "yaml"]
    assert [found for found, _, _ in told(wrong)] == [code]
    assert told(right) == []
