"""A policy's rules as text for a system prompt: every line has its cause in the policy, in two languages."""

import os
import string
from pathlib import Path
from typing import Any

import pytest

from callgate import Gate, PolicyError, prompt_text
from callgate.cli.main import main
from callgate.policy.compose import compose
from callgate.policy.source import Source
from callgate.runtime import prompt_en, prompt_zh
from callgate.runtime.prompt_rules import _PRESETS, LANGUAGES, rules_as_text
from callgate.testing import FakeClock

SNAPSHOTS = Path(__file__).parent / "data" / "prompts"
WORDS = {"en": prompt_en.WORDS, "zh": prompt_zh.WORDS}

FULL = """
mode: enforce
undeclared_tools: refuse
on_stop: end
budgets:
  preset: medium
  tool_calls: 40
  calls_per_tool: {supplier_search: 6, "*": 20}
  calls_per_group: {search: 12}
  retries: 6
  cost: {limit: 2.50, currency: USD}
  depth: 3
  notes_at: [0.8, 0.95]
  reserve: {tool_calls: 1, for: [submit_report]}
time: {task: 10m, step: 2m}
detectors:
  consecutive: {note_after: 3, refuse_after: 3}
  exact_repeat: {note_after: 3, refuse_after: 3, sufficient_reads: {refuse_after: 1}}
  cycle: {max_period: 8, laps: 3}
  oscillation: {note_after: 3, refuse_after: 5}
  same_error: {note_after: 3, refuse_after: 5}
  same_result: {note_after: 5, refuse_after: 6}
  no_gain: {towards: needs, note_after: 3, refuse_after: 7, exit_after: 10}
  empty_streak: {note_after: 2, refuse_after: 3}
  state_oscillation: {note_after: 2, refuse_after: 2}
  transfer_streak: {note_after: 4, refuse_after: 5}
  diversity: {min_calls: 10, refuse_below: 0.1}
  invalid_arguments: {note_after: 2, refuse_after: 2}
  repeated_effect: {refuse_after: 1}
  for: {quote_search: {empty_streak: {refuse_after: 5}, same_error: null}}
ladder: {reuse_reads: 2, stop_after_refusals: 2}
rules:
  - id: order-ceiling
    phase: admit
    tools: [create_order]
    when: args.amount > 50
    action: ask
    message: '"orders above 50 need a person"'
  - {id: no-night, when: 'true', action: refuse, message: '"not at " + string(now)'}
  - {id: enough-orders, tools: [create_order], when: 'true', action: stop}
  - {id: watch, phase: observe, tools: [job_status], when: 'true', action: note}
needs:
  - id: quotes
    from: [supplier_search]
    min_records: 3
    key: [supplier]
    fields: [supplier, model, unit_price]
    essential: [supplier, model]
  - {id: address, from: [supplier_search], fields: [street]}
fallback:
  max_hops: 2
  edges:
    - {kind: tool, from: supplier_search, to: quote_search, when: '"unit_price" in gaps'}
    - {from: quote_search, to: web_search, when: grade == "empty"}
    - {from: web_search, to: ask_colleague}
    - {kind: provider, from: primary, to: secondary}
  then: {partial: finish_with_gaps, insufficient: escalate}
"""
TOOLS = """
supplier_search: {effect: read, groups: [search], parameters: {type: object}}
quote_search: {effect: read, groups: [search]}
create_order: {effect: external}
pay_invoice: {effect: external, idempotent: true}
submit_report: {effect: external}
job_status: {effect: read, waiting: {max_unchanged: 20, max_stale: 10m, min_interval: 500ms}}
build_done: {effect: read, waiting: true}
hand_over: {effect: control, transfer: true}
bare:
"""


def data(yaml: str) -> Any:
    (document,) = compose(Source("spec.yaml", yaml)).documents
    return document.root.data


def full(language: str = "en", **changes: Any) -> str:
    return rules_as_text(data(FULL) | changes, data(TOOLS), language)


def held(name: str, text: str) -> None:
    """Compare with the snapshot; `CALLGATE_SNAPSHOTS=write` writes it, to be read before it is committed."""
    file = SNAPSHOTS / f"{name}.md"
    if os.environ.get("CALLGATE_SNAPSHOTS") == "write":
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("pack", ["default", "strict", "coding-agent"])
def test_the_text_of_a_pack_is_held_by_a_snapshot(pack: str, language: str) -> None:
    held(f"{pack}.{language}", prompt_text(pack, language=language))


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_policy_with_everything_is_held_by_a_snapshot(language: str) -> None:
    held(f"everything.{language}", full(language))


@pytest.mark.parametrize("mode", ["warn", "audit"])
def test_the_text_under_a_mode_that_refuses_nothing_is_held_by_a_snapshot(mode: str) -> None:
    held(f"everything-{mode}.en", full(mode=mode))


@pytest.mark.parametrize("mode", ["warn", "audit"])
def test_nothing_is_said_to_be_refused_where_nothing_is(mode: str) -> None:
    text = full(mode=mode).replace("Nothing is refused", "")
    assert "refused" not in text
    assert "ends the task" not in text


def test_a_policy_that_says_nothing_gets_no_rule_but_the_first() -> None:
    stop, refusal = (
        prompt_en.WORDS["enough"],
        [prompt_en.WORDS["refused"], prompt_en.WORDS["final_answer"]],
    )
    expected = ["# Tool calls", "", prompt_en.WORDS["intro"], "", "## When to stop", "", f"- {stop}", ""]
    expected += ["## When a call is refused", "", *(f"- {line}" for line in refusal)]
    assert rules_as_text({}, {}) == "\n".join(expected) + "\n"


# What has to go from the text with a part of the policy: the part, and words of its line.
CAUSES = {
    "needs": "Needed (",
    "budgets.tool_calls": "Tool calls: 40.",
    "budgets.calls_per_tool": "Calls of `supplier_search`: 6.",
    "budgets.calls_per_group": "together: 12.",
    "budgets.retries": "Further attempts",
    "budgets.cost": "Cost: 2.5 USD.",
    "budgets.depth": "Agents below agents: 3.",
    "budgets.reserve": "The last tool call is kept for `submit_report`.",
    "budgets.notes_at": "You are told at 80% and 95%",
    "time.step": "Time for one step: 2 min.",
    "detectors.exact_repeat": "Do not repeat a call that brought the same result",
    "detectors.consecutive": "Do not make the same call again and again",
    "detectors.cycle": "Do not go round",
    "detectors.oscillation": "slightly other arguments",
    "detectors.same_error": "when the same error came 5 times",
    "detectors.same_result": "Do not vary arguments",
    "detectors.no_gain": "bring nothing new",
    "detectors.empty_streak": "Nothing found is an answer",
    "detectors.state_oscillation": "back and forth",
    "detectors.transfer_streak": "from agent to agent",
    "detectors.diversity": "fewer than 10%",
    "detectors.for": "Other numbers hold for `quote_search`: equal errors no limit and empty results 5.",
    "detectors.invalid_arguments": "INVALID_ARGUMENTS",
    "detectors.repeated_effect": "`create_order` and `submit_report`: the effect happens once.",
    "undeclared_tools": "Use only tools that you were given.",
    "ladder": "When calls were refused twice for the same thing",
    "rules": "a person decides about some calls (order-ceiling: orders above 50 need a person).",
    "fallback": "If `unit_price` is missing after `supplier_search`, use `quote_search`.",
    "fallback.max_hops": "At most 2 such changes of tool",
    "fallback.then": "a person takes over",
}


@pytest.mark.parametrize("part", CAUSES)
def test_a_line_is_there_if_and_only_if_the_policy_has_its_part(part: str) -> None:
    assert CAUSES[part] in full()
    spec = data(FULL)
    *path, last = part.split(".")
    holder = spec
    for step in path:
        holder = holder[step]
    del holder[last]
    assert CAUSES[part] not in rules_as_text(spec, data(TOOLS))


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("detectors: {consecutive: {refuse_after: 1}}", "again and again: after the first time it is refused."),
        ("detectors: {no_gain: {refuse_after: 1}}", "are not worth making: after the first time the tool is refused."),
        ("detectors: {no_gain: {exit_after: 1}}", "When calls of any tools bring nothing new once, the task ends."),
        ("detectors: {oscillation: {refuse_after: 1}}", "after you did so once, the tool is refused."),
        ("detectors: {empty_streak: {refuse_after: 1}}", "after nothing was found once, the tool is refused."),
        ("detectors: {transfer_streak: {refuse_after: 1}}", "in between: after the first time it is refused."),
        ("detectors: {same_error: {refuse_after: 1}}", "when the same error came once, the tool is refused."),
        ("needs: [{id: a, fields: [x]}]", "Needed (a): at least 1 record with `x`."),
        ("fallback: {max_hops: 1, edges: [{from: look, to: poll}]}", "At most one such change of tool for one need."),
        ("{}", "`poll`: ask how it stands, and no more than once while nothing changes."),
    ],
)  # fmt: skip
def test_one_is_said_otherwise_than_several(spec: str, said: str) -> None:
    tools = {
        "look": {"effect": "read"}, "poll": {"effect": "read", "waiting": {"max_unchanged": 1}},
        "hand_over": {"effect": "control", "transfer": True},
    }  # fmt: skip
    assert said in rules_as_text(data(spec), tools)


def test_tools_that_nobody_declared_are_only_told_what_is_enforced_for_them() -> None:
    text = rules_as_text(data(FULL), {})
    assert "when it has done so 3 times, it is refused" in text
    assert "when you went round 3 times" in text
    assert "the tool is refused" not in text
    assert "the task ends." not in text


def test_a_tool_that_extends_another_is_told_like_it() -> None:
    tools = {"mail": {"effect": "external"}, "send_mail": {"extends": "mail"}, "round": {"extends": "round"}}
    text = rules_as_text({"detectors": {"repeated_effect": {"refuse_after": 1}}}, tools)
    assert "- `mail` and `send_mail`: the effect happens once." in text


def test_of_very_many_tools_the_first_are_named() -> None:
    tools = {f"send_{number}": {"effect": "external"} for number in range(13)}
    text = rules_as_text({"detectors": {"repeated_effect": {"refuse_after": 1}}}, tools)
    assert "`send_11` and others: the effect happens once." in text
    assert "`send_12`" not in text


@pytest.mark.parametrize("limit", ["unlimited", {"limit": "unlimited", "reason": "nobody counts"}])
def test_no_limit_is_no_line(limit: Any) -> None:
    assert "Steps" not in rules_as_text({"budgets": {"steps": limit}}, {})


def test_both_languages_say_the_same_points_with_the_same_facts() -> None:
    def fields(words: str) -> set[str | None]:
        return {field for _, field, _, _ in string.Formatter().parse(words) if field is not None}

    english, chinese = WORDS["en"], WORDS["zh"]
    assert list(english) == list(chinese)
    counted = {"once", "twice"}  # Chinese counts these in digits as well, but they take nothing in
    assert {key: fields(words) for key, words in english.items() if key not in counted} == {
        key: fields(words) for key, words in chinese.items() if key not in counted
    }


@pytest.mark.parametrize("preset", _PRESETS)
def test_presets_stand_for_what_the_engine_makes_of_them(preset: str, tmp_path: Path) -> None:
    steps, tokens, time = _PRESETS[preset]
    text = "apiVersion: callgate/v1\nkind: GuardPolicy\nmetadata: {name: p}\nspec: {budgets: {preset: PRESET}}\n"
    (tmp_path / "p.yaml").write_text(text.replace("PRESET", preset))
    clock = FakeClock()
    gate = Gate.load(tmp_path, clock=clock)
    limits = dict(gate.policy.limits)
    assert (limits["steps"], limits["tokens"]) == (steps, tokens)
    task = gate.task("t")
    clock.advance(int(time.removesuffix("m")) * 60 - 1)
    assert task.admit("a", {}).allowed
    clock.advance(1)
    assert "budget_time" in task.admit("a", {"n": 1}).reasons


def test_a_faulty_policy_and_an_unknown_language_are_refused() -> None:
    with pytest.raises(PolicyError, match="no such pack"):
        prompt_text("no-such-pack")
    with pytest.raises(ValueError, match="unknown language `de`: there are `en`, `zh`"):
        prompt_text("default", language="de")


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = main(["prompt", *argv])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_the_command_prints_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "strict") == (0, prompt_text("strict"), "")
    assert run(capsys, "strict", "--language", "zh") == (0, prompt_text("strict", language="zh"), "")


def test_the_language_is_that_of_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "callgate.yaml").write_text("prompt: {language: zh}\n")
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "default")[1].startswith("# 工具调用规则\n")
    assert run(capsys, "default", "--language", "en")[1].startswith("# Tool calls\n")


def test_exit_codes_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "no-such-pack")[0] == 2
    assert run(capsys, "default", "--language", "de")[0] == 2
    assert run(capsys)[0] == 2
    (tmp_path / "p.yaml").write_text(
        "apiVersion: callgate/v1\nkind: GuardPolicy\nmetadata: {name: p}\nspec: {budget: {}}\n"
    )
    code, out, err = run(capsys, str(tmp_path))
    assert (code, out) == (1, "")
    assert "unknown key `budget`" in err


BOUND = """
apiVersion: callgate/v1
kind: GuardPolicy
metadata: {name: payments}
spec:
  extends: [default]
  tools: [shop]
  parameters: {ceiling: {type: number}}
  rules: [{id: above-ceiling, tools: [pay], when: args.amount > params.ceiling, action: ask}]
---
apiVersion: callgate/v1
kind: ToolManifest
metadata: {name: shop}
spec: {tools: {pay: {effect: external}}}
---
apiVersion: callgate/v1
kind: GuardBinding
metadata: {name: acme}
spec: {policy: payments, match: {tenants: [acme]}, parameters: {ceiling: 100}}
"""
TRIAL = """
---
apiVersion: callgate/v1
kind: GuardBinding
metadata: {name: trial}
spec: {policy: payments, match: {tenants: [new]}, mode: warn, rollout: true, parameters: {ceiling: 10}}
"""


def test_the_only_policy_that_bindings_name_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "payments.yaml"
    file.write_text(BOUND)
    text = prompt_text(file)
    assert "(above-ceiling)" in text
    assert text == prompt_text(file, policy="payments")
    assert main(["prompt", str(file)]) == 0
    assert capsys.readouterr().out == text


def test_bindings_with_different_modes_want_a_policy_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "payments.yaml"
    file.write_text(BOUND + TRIAL)
    with pytest.raises(PolicyError, match="no policy was named"):
        prompt_text(file)
    assert main(["prompt", str(file)]) == 2
    assert "there are `payments`" in capsys.readouterr().err
    assert prompt_text(file, policy="payments").startswith("# Tool calls\n")
