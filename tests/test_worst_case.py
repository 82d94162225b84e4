"""The worst that one call can become: what multiplies, what bounds it, and when nothing is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from callgate.policy.check import check
from callgate.policy.load import load

TOOLS = """\
---
apiVersion: callgate/v1
kind: ToolManifest
metadata: {name: shop}
spec:
  tools:
    supplier_search: {effect: read, parameters: {type: object}, result: {records: result.items}SUPPLIER}
    quote_search: {effect: read, parameters: {type: object}, result: {records: result.items}QUOTE}
"""
LAYERS = "    layers: {http: {retries: 3}, agent: {retries: 3}}\n"
EDGE = """\
  needs: [{id: q, from: [supplier_search, quote_search], fields: [id, price], key: [id]}]
  fallback:
    max_hops: 1
    edges: [{from: supplier_search, to: quote_search, when: '"price" in gaps', arguments: {id: 'records[0].id'}}]
"""


def told(
    folder: Path, *, budgets: str = "", more: str = "", time: str = "", supplier: str = "", quote: str = ""
) -> list[tuple[Any, ...]]:
    (folder / "p.yaml").write_text(
        "apiVersion: callgate/v1\nkind: GuardPolicy\nmetadata: {name: p}\nspec:\n"
        f"  budgets:\n    steps: 32\n    tokens: 200000\n{budgets}"
        f"  time: {{task: 1h{time}}}\n{more}" + TOOLS.replace("SUPPLIER", supplier).replace("QUOTE", quote)
    )
    found = check(load([folder / "p.yaml"]))
    assert {each.severity for each in found} <= {"warning", "note"}, found
    return [(each.severity, each.message, each.span[:2] if each.span else None)
            for each in found if each.code == "CG426"]  # fmt: skip


def test_layers_multiply_over_each_hop_and_each_attempt_waits_for_its_time_out(tmp_path: Path) -> None:
    # 3 × 3 attempts of each of two tools, thirty seconds each: 18 calls, 540 s
    found = told(tmp_path, budgets=LAYERS + "    cost: {limit: 4.20, currency: USD}\n", more=EDGE, time=", tool: 30s")
    way = "`supplier_search` → `quote_search`"
    assert found == [("note", f"at worst one call becomes 18 calls, 9 min, up to 4.2 USD: {way}", (8, 5))]


def test_without_layers_a_tools_own_retries_count_and_its_own_time_out(tmp_path: Path) -> None:
    # 1 + 7 attempts of 20 s, 1 + 3 of 45 s: 12 calls, 160 + 180 = 340 s
    found = told(
        tmp_path, more=EDGE, supplier=", retry: {max: 7}, timeout: 20s", quote=", retry: {max: 3}, timeout: 45s"
    )
    assert [message for _, message, _ in found] == [
        "at worst one call becomes 12 calls, 5 min 40 s: `supplier_search` → `quote_search`"
    ]


@pytest.mark.parametrize(
    ("budgets", "time", "message"),
    [
        # the budget for retries bounds them: one call and nine further ones, the slow ones first
        (LAYERS + "    retries: 8\n", ", tool: 30s", "10 calls, 5 min"),
        (LAYERS + "    tool_calls: 12\n", ", tool: 30s", "12 calls, 6 min"),
        (LAYERS, ", tool: 10m", "18 calls, 1 h"),
        (LAYERS, ", tool: 500ms", "18 calls, 9 s"),
        (LAYERS, "", "18 calls"),
    ],
)
def test_budgets_bound_it_and_what_is_not_declared_is_left_out(
    tmp_path: Path, budgets: str, time: str, message: str
) -> None:
    [(_, found, _)] = told(tmp_path, budgets=budgets, more=EDGE, time=time)
    assert found == f"at worst one call becomes {message}: `supplier_search` → `quote_search`"


@pytest.mark.parametrize(
    ("budgets", "more", "retry"),
    [
        ("    layers: {http: {retries: 2}, agent: {retries: 2}}\n", EDGE, ""),  # 8 calls
        ("", EDGE, ""),  # a hop alone multiplies nothing
        ("", "", ", retry: {max: 7}"),  # 8 calls
        (LAYERS + "    retries: 3\n", EDGE, ""),  # 5 calls
    ],
)
def test_of_fewer_than_nine_calls_nothing_is_said(tmp_path: Path, budgets: str, more: str, retry: str) -> None:
    assert told(tmp_path, budgets=budgets, more=more, supplier=retry) == []


def test_numbers_without_bounds_take_no_time(tmp_path: Path) -> None:
    most = 9_007_199_254_740_991
    [(_, message, _)] = told(tmp_path, budgets="    retries: 100000000\n", supplier=f", retry: {{max: {most}}}")
    assert message == "at worst one call becomes 100000001 calls: `supplier_search`"
