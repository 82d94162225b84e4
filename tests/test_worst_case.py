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


def test_without_layers_a_tools_own_retries_count_with_its_time_out_and_the_longest_pause(tmp_path: Path) -> None:
    # 1 + 7 attempts of 20 s, 1 + 3 of 45 s, before each further one 60 s: 12 calls, 20 + 7 · 80 + 45 + 3 · 105 = 940 s
    found = told(
        tmp_path, more=EDGE, supplier=", retry: {max: 7}, timeout: 20s", quote=", retry: {max: 3}, timeout: 45s"
    )
    assert [message for _, message, _ in found] == [
        "at worst one call becomes 12 calls, 15 min 40 s: `supplier_search` → `quote_search`"
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


BACKOFF = ", retry: {max: 8, backoff: {initial: 1s, max: 5s}}, timeout: 10s"


@pytest.mark.parametrize(
    ("budgets", "time", "supplier", "quote", "told_of_it"),
    [
        # 10 + 8 · (5 + 10): the eighth pause would be 128 s without its cap
        ("", "", BACKOFF, "", "9 calls, 2 min 10 s"),
        # a `Retry-After` is waited for up to the same cap, so a backoff that stays below it changes nothing
        ("", "", BACKOFF.replace("initial: 1s", "initial: 1s, factor: 1.0, jitter: none"), "", "9 calls, 2 min 10 s"),
        # no pause at all is none
        ("", "", BACKOFF.replace("initial: 1s, max: 5s", "initial: 0s, max: 0s"), "", "9 calls, 1 min 30 s"),
        # the time of a step ends the attempts and pauses of one call
        ("", ", step: 1m", BACKOFF, "", "9 calls, 1 min"),
        ("", ", workflow: 100s", BACKOFF, "", "9 calls, 1 min 40 s"),
        # where nothing is written: three further attempts, pauses of a minute; 10 + 3 · 70 and 10 + 4 · (5 + 10)
        ("", "", ", retry: {}, timeout: 10s", BACKOFF.replace("8", "4"), "9 calls, 4 min 50 s"),
        # eight of the retries: three of 45 + 60 s, five of 20 + 60 s, after 20 + 45 s: 65 + 315 + 400
        ("    retries: 8\n", "", ", retry: {max: 7}, timeout: 20s", ", retry: {max: 3}, timeout: 45s",
         "10 calls, 13 min"),
        # in a step of 2 min each of the two tools has 120 s
        ("", ", step: 2m", ", retry: {max: 7}, timeout: 20s", ", retry: {max: 3}, timeout: 45s", "12 calls, 4 min"),
        # six of the nine attempts are further ones of the tool layer, after 10 s each: 9 · 30 + 6 · 10
        ("    layers: {tool: {retries: 3}, agent: {retries: 3}}\n", ", tool: 30s",
         ", retry: {backoff: {initial: 1s, max: 10s}}", "", "9 calls, 5 min 30 s"),
        # in each of the three attempts of the agent a step of 1 min
        ("    layers: {tool: {retries: 3}, agent: {retries: 3}}\n", ", tool: 30s, step: 1m",
         ", retry: {backoff: {initial: 1s, max: 10s}}", "", "9 calls, 3 min"),
    ],
)  # fmt: skip
def test_pauses_count_up_to_their_cap_and_as_far_as_the_times_let_them(
    tmp_path: Path, budgets: str, time: str, supplier: str, quote: str, told_of_it: str
) -> None:
    more = EDGE if quote else ""
    [(_, message, _)] = told(tmp_path, budgets=budgets, time=time, more=more, supplier=supplier, quote=quote)
    way = "`supplier_search` → `quote_search`" if quote else "`supplier_search`"
    assert message == f"at worst one call becomes {told_of_it}: {way}"


def test_a_way_is_gone_only_as_far_as_it_is_slowest(tmp_path: Path) -> None:
    # of nine calls eight may be retries of the first: 10 + 8 · 15 = 130 s; with the second it is one retry less, 116 s
    quick = ", timeout: 1s, retry: {max: 1, backoff: {initial: 1s, max: 1s}}"
    [(_, message, _)] = told(tmp_path, budgets="    tool_calls: 9\n", more=EDGE, supplier=BACKOFF, quote=quick)
    assert message.startswith("at worst one call becomes 9 calls, 2 min 10 s: ")


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
