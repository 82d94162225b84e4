"""Random runs that the compiled engine and the slow one must judge alike.

`python -m tests.agreement --runs 10000 --seed 1` drives both through many runs and prints the first that differs,
shrunk. `tests/test_reference_agreement.py` does the same for a bounded number, and through Hypothesis.
"""

import argparse
import copy
import json
import random
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

sys.path.insert(0, str(Path(__file__).parent))

from reference import Reference, Task
from specification.verdicts import Assessment, Verdict

T = TypeVar("T")
Op = dict[str, Any]
View = dict[str, Any]


class Draw(Protocol):
    """Where choices come from: a seeded generator, or Hypothesis."""

    def choice(self, of: Sequence[T]) -> T: ...

    def chance(self, percent: int) -> bool: ...


class Seeded:
    """Choices from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def choice(self, of: Sequence[T]) -> T:
        return self.random.choice(of)

    def chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent


# A world: a policy and its tools

UNLIMITED = {"limit": "unlimited", "reason": "none is under test"}


def some(draw: Draw, percent: int, name: str, of: Sequence[Any]) -> dict[str, Any]:
    """Give `{name: one of these}` now and then, else nothing."""
    return {name: draw.choice(of)} if draw.chance(percent) else {}


def policy(draw: Draw) -> dict[str, Any]:
    """Make a policy: most detectors present, with thresholds low enough to be met."""

    def rungs(percent: int, low: int = 1) -> dict[str, Any]:
        note = draw.choice([low, low + 1, low + 2])
        return {
            **({"note_after": note} if draw.chance(70) else {}),
            **({"refuse_after": note + draw.choice([0, 1, 2])} if draw.chance(percent) else {}),
            **some(draw, 25, "cool_down", ["2s", "10s"]),
            **some(draw, 4, "exit_after", [note + 2]),
        }

    detectors: dict[str, Any] = {"window": draw.choice([8, 12, 50])}
    likely: dict[str, Callable[[], dict[str, Any]]] = {
        "consecutive": lambda: rungs(40, 2),
        "exact_repeat": lambda: rungs(80, 2) | ({"sufficient_reads": {"refuse_after": 1}} if draw.chance(15) else {}),
        "frequency": lambda: rungs(20, 3),
        "cycle": lambda: {
            "max_period": draw.choice([1, 2, 3]),
            "laps": draw.choice([2, 3]),
            "mismatches": draw.choice([0, 0, 1]),
        },
        "oscillation": lambda: rungs(60) | {"arguments_at_most": 0.34, "known_records": draw.choice([0.8, 0.5])},
        "same_error": lambda: rungs(60, 2) | some(draw, 50, "transient_after", [1, 2]),
        "same_result": lambda: rungs(60, 2),
        "no_gain": lambda: rungs(60, 2) | some(draw, 40, "exit_after", [4, 6, 9]),
        "empty_streak": lambda: rungs(60),
        "state_oscillation": lambda: rungs(70),
        "transfer_streak": lambda: rungs(60, 2),
        "transfer_cycle": lambda: {"laps": 2},
        "diversity": lambda: {
            "min_calls": 4,
            **some(draw, 40, "note_below", [0.45, 0.7]),
            **some(draw, 30, "refuse_below", [0.3, 0.45]),
            **some(draw, 30, "entropy_note_below", [0.93, 1.37]),
        },
        "unknown_tool": lambda: rungs(80),
        "invalid_arguments": lambda: rungs(80),
        "repeated_effect": lambda: {"refuse_after": draw.choice([1, 1, 2])},
        "denied": lambda: {"note_after": 1, "refuse_after": 1},
    }
    # few detectors a run, so that each gets its say; now and then all of them
    share = draw.choice([15, 40, 90])
    for name, make in likely.items():
        if draw.chance(share):
            detectors[name] = make()
    if draw.chance(15):
        detectors["for"] = {
            draw.choice(["get", "bash", "search", "mystery"]): {"same_error": rungs(80), "exact_repeat": rungs(80)}
        }
    groups = ["repeats", "errors", "results", "gain", "incidents"]
    spec: dict[str, Any] = {
        "mode": draw.choice(["enforce"] * 7 + ["warn", "audit"]),
        "undeclared_tools": draw.choice(["allow"] * 4 + ["refuse"]),
        "detectors": detectors,
        "ladder": {
            "reuse_reads": draw.choice([0, 1, 2]),
            "stop_after_refusals": draw.choice([1, 2, 3, 4]),
            "deterministic_stop_after": draw.choice([1, 2]),
        },
        "resets": {
            "user_turn": [name for name in groups if draw.chance(50)],
            "compaction": [name for name in groups if draw.chance(30)],
        },
    }
    spec["budgets"] = {"steps": UNLIMITED, "tokens": UNLIMITED}
    spec["time"] = {"task": UNLIMITED}
    if draw.chance(35):
        spec["budgets"] |= {
            **some(draw, 30, "steps", [3, 8, 16]),
            **some(draw, 40, "tool_calls", [1, 3, 6, 10, 16]),
            **some(draw, 30, "calls_per_tool", [{"get": 3}, {"*": 4}, {"get": 2, "*": 5}]),
            **some(draw, 30, "calls_per_group", [{"search": 3}]),
            **some(draw, 30, "retries", [0, 1, 2]),
            **some(draw, 20, "tokens", [100]),
            **some(draw, 20, "cost", [{"limit": 2.5, "currency": "USD"}]),
            **some(draw, 50, "notes_at", [[0.5], [0.5, 0.75]]),
            **some(draw, 30, "batch", ["admit_prefix", "all_or_nothing"]),
        }
        if "tool_calls" in spec["budgets"]:
            spec["budgets"] |= some(draw, 40, "reserve", [{"tool_calls": 1, "for": ["send"]}])
    if draw.chance(40):
        spec["needs"] = needs(draw)
        if "no_gain" in detectors:
            detectors["no_gain"] |= some(draw, 25, "towards", ["task", "needs"])
        then = some(draw, 40, "partial", ["escalate"]) | some(draw, 40, "insufficient", ["finish_with_gaps"])
        spec |= some(draw, 50, "fallback", [{"then": then}])
    if draw.chance(8):
        spec["time"] |= (
            some(draw, 60, "task", ["20s"]) | some(draw, 60, "workflow", ["30s"]) | some(draw, 30, "step", ["2s"])
        )
    if draw.chance(20):
        spec["rules"] = [rule(draw, place) for place in range(draw.choice([1, 1, 2, 3]))]
        spec |= some(draw, 50, "on_error", ["refuse", {"reads": "allow", "else": "refuse"}])
    return spec


def rule(draw: Draw, place: int) -> dict[str, Any]:
    """Make a rule of `admit` whose condition both can read."""
    about = draw.choice([["bash"], ["get"], ["get", "page"], None])
    when = {
        "bash": ["args.look", 'args.command == "ls"'],
        "get": ['args.key == "a"', 'args.key == "b"'],
        None: ['task.calls("get") >= 2', 'task.calls("bash") >= 1'],
    }[about[0] if about else None]
    return {
        "id": f"rule-{place}",
        "phase": "admit",
        **({"tools": about} if about else {}),
        "when": draw.choice(when),
        "action": draw.choice(["note", "ask", "ask", "refuse", "stop"]),
    }


def needs(draw: Draw) -> list[dict[str, Any]]:
    """Make one or two needs: records that are told apart, and now and then a single one."""
    items = {
        "id": "items",
        **some(draw, 70, "from", [["get"], ["get", "page"]]),
        "min_records": draw.choice([1, 1, 2]),
        "key": ["id"],
        "fields": draw.choice([["id", "v"], ["id", "v", "w"]]),
        **some(draw, 60, "essential", [["id"], ["id", "v"], []]),
        **some(draw, 40, "resolve", ["first", "last"]),
    }
    state = {"id": "state", "from": draw.choice([["put", "bash"], ["page", "poll", "mystery"]]), "fields": ["state"]}
    return [items, *([state] if draw.chance(40) else [])]


def tools(draw: Draw) -> dict[str, Any]:
    """Make a manifest: one tool or two of each effect; `mystery` is left undeclared."""
    retry = {
        "classes": draw.choice([["transient"], ["permanent"], ["permanent", "ambiguous"]]),
        "max": draw.choice([1, 2]),
    }
    errors = [
        {"when": "result.missing", "class": "permanent", "type": "not_there"},
        *([{"class": draw.choice(["permanent", "transient", "ambiguous"])}] if draw.chance(50) else []),
    ]
    look = {"when": "args.look", "effect": "read", **some(draw, 30, "result", [{"records": "result.items"}])}
    change = {"when": "args.change", "effect": "write", **some(draw, 50, "identity", [{"target": ["command"]}])}
    forms = [{"when": "args.wait", "waiting": {"max_unchanged": 2}}, look, change]
    get: dict[str, Any] = {
        "effect": "read",
        **some(draw, 30, "groups", [["search"]]),
        **some(draw, 30, "reads", [["files"], ["orders"]]),
        **some(draw, 30, "cache", [{"ttl": "4s"}]),
        **some(draw, 25, "retry", [retry]),
        **some(draw, 10, "parameters", [PARAMETERS]),
        "identity": {
            **some(draw, 30, "ignore", [["id"]]),
            **some(draw, 20, "trim", [True, ["key"]]),
            **some(draw, 20, "casefold", [["key"]]),
            **some(draw, 30, "target", [["path"]]),
            **some(draw, 20, "defaults", [{"n": 0}]),
            **some(draw, 15, "paths", [["path"]]),
            **some(draw, 15, "unordered", [["of"]]),
            **some(draw, 10, "group", ["hints.group"]),
        },
        "result": {
            **some(draw, 30, "records", ["result.items"]),
            **some(draw, 20, "empty_when", ["result.none"]),
            **some(draw, 20, "version", ["result.version"]),
            **some(draw, 30, "ignore", [["query"]]),
            **some(draw, 15, "ignore_text", [["run-[0-9]"], ["in [0-9]+ms"]]),
            **some(draw, 10, "failed_when", ["result.none"]),
        },
    }
    if "records" in get["result"]:
        get["result"] |= {
            **some(draw, 50, "key", [["id"]]),
            **some(draw, 50, "required_fields", [["id", "v"]]),
            **some(draw, 50, "wanted_fields", [["w"]]),
            **some(draw, 30, "min_records", [2]),
        }
    pages = [COVERAGE, {"target": "args.path"}, {"cursor": "args.cursor", "next": "result.next"}]
    page = {"effect": "read", "coverage": draw.choice(pages)}
    put = {
        "effect": "write",
        "identity": some(draw, 50, "target", [["path"]]),
        "result": some(draw, 50, "state", ["result.state"]),
        **some(draw, 30, "touches", [["files"]]),
        **some(draw, 30, "idempotency", [{"key": "args.path"}, {"key": "args.text"}, {"key": "args.order"}]),
    }
    send = {
        "effect": "external",
        **some(draw, 30, "idempotent", [True, False]),
        **some(draw, 30, "touches", [["orders"]]),
        "identity": some(draw, 40, "target", [["path"]]),
        **some(draw, 30, "idempotency", [{"key": "args.path"}, {"key": "args.to"}, {"key": "args.order"}]),
    }
    # now and then what is known of a tool stands at another that it extends
    gets = {"like_get": get, "get": {"extends": "like_get"}} if draw.chance(15) else {"get": get}
    return {
        **gets,
        "page": page,
        "put": put,
        "send": send,
        "bash": {
            "effect": "unknown",
            **some(draw, 20, "retry", [retry]),
            **some(draw, 30, "errors", [errors]),
            **some(draw, 40, "forms", [forms]),
        },
        "click": {"effect": "ui", "result": some(draw, 60, "state", ["result.state"])},
        "hand": {"effect": "control", "transfer": True},
        "poll": {
            "effect": draw.choice(["read", "unknown"]),
            "waiting": draw.choice(
                [True, {"max_unchanged": 2}, {"max_unchanged": 3, "max_stale": "6s"}, {"min_interval": "1s"}]
            ),
        },
    }


PARAMETERS = {"type": "object", "required": ["key"], "properties": {"key": {"type": "string"}, "n": {"maximum": 0}}}
COVERAGE = {"target": "args.path", "offset": "args.offset", "length": "args.length"}
ARGUMENTS: dict[str, list[dict[str, Any]]] = {
    "get": [
        {"key": "a"},
        {"key": "a"},
        {"key": "b"},
        {"key": " A "},
        {"key": "a", "id": 1},
        {"key": "a", "n": 0},
        {"key": "b", "path": "x", "n": 1},
        {"key": "b", "path": "y", "n": 1},
        {"key": "c", "path": "x", "n": 1},
        {"key": "c", "path": "./x/", "n": 1, "of": [1, 2]},
        {"key": "c", "path": "x", "n": 1, "of": [2, 1]},
    ],
    "page": [
        {"path": "x"},
        {"path": "x", "offset": 0, "length": 10},
        {"path": "x", "offset": 10, "length": 10},
        {"path": "y", "offset": 5, "length": 10},
        {"path": "x", "cursor": None},
        {"path": "x", "cursor": "p1"},
        {"path": "x", "cursor": "p2"},
        {"path": "y", "cursor": None},
        {"path": "y", "cursor": "p1"},
    ],
    "put": [{"path": "x", "text": "one"}, {"path": "x", "text": "two"}, {"path": "y", "text": "one"}],
    "send": [{"path": "x", "to": "anna"}, {"path": "y", "to": "anna"}, {"path": "x", "to": "otto"}],
    "bash": [
        {"command": "make", "wait": False, "look": False, "change": False},
        {"command": "make", "wait": False, "look": False, "change": False},
        {"command": "ls", "wait": False, "look": True},
        {"command": "ls -l", "wait": False, "look": True},
        {"command": "touch x", "wait": False, "look": False, "change": True},
        {"command": "", "wait": True},
        {"command": "odd"},
    ],
    "click": [{"on": "next"}, {"on": "back"}],
    "hand": [{"agent": "anna"}, {"agent": "otto"}],
    "poll": [{"handle": 1}, {"handle": 1}, {"handle": 2}],
    "mystery": [{"x": 1}, {"x": 2}],
}
RESULTS: list[dict[str, Any]] = [
    {"result": "one"},
    {"result": "one"},
    {"result": "two"},
    {"result": {"items": [{"id": 1, "v": 1}], "none": False, "query": 1, "state": "s1", "next": "p1", "version": 1}},
    {"result": {"items": [{"id": 1, "v": 1}], "none": False, "query": 2, "state": "s2", "next": "p2", "version": 1}},
    {"result": {"items": [{"id": 1, "w": 2}, {"id": 2, "v": 1}], "none": False, "state": "s1", "next": None}},
    {"result": {"items": [], "none": True, "state": "s3", "next": None}},
    {"result": '{"items": [{"id": 1, "v": 1}], "none": false, "query": 3, "state": "s1", "next": "p1", "version": 1}'},
    {"result": ' {"items": [], "none": true, "query": 4}'},
    {"result": '["one"]'},
    {"result": "{one"},
    {"result": "see /tmp/run-1/log"},
    {"result": "see /tmp/run-2/log"},
    {"result": None},
    {},
    {"result": "cut", "result_digest": "d1"},
]
FAULTS: list[dict[str, Any]] = [
    {"error": {"type": "tool_error", "message": "no such thing"}},
    {"error": {"type": "tool_error", "message": "no such thing"}},
    {"error": {"type": "tool_error", "message": "otto is not there"}},
    {"error": {"type": "tool_error", "message": "anna is not there"}},
    {"error": {"type": "exit_nonzero"}, "result": {"code": 1, "out": "2 failed in 12ms", "missing": False}},
    {"error": {"type": "exit_nonzero"}, "result": {"code": 1, "out": "2 failed in 13ms", "missing": True}},
    {"error": {"type": "exit_nonzero"}, "result": {"code": 1, "out": "3 failed in 13ms"}},
    {"error": {"type": "FileNotFoundError", "message": "a"}},
    {"error": {"type": "FileNotFoundError", "message": "b"}},
    {"error": {"status": 503, "message": "try again"}},
    {"error": {"status": 404, "message": "not found"}},
    {"error": {"type": "timeout"}},
    {"error": {"type": "timeout"}},
    {"error": {"type": "cancelled"}},
    {"error": {"type": "connection_lost", "message": "half an answer"}},
    {"error": {"type": "network", "message": "reset"}},
    {"error": {"type": "invalid_arguments", "message": "missing key"}},
    {"error": {"type": "invalid_arguments", "message": "missing key"}},
    {"error": {"type": "unknown_tool"}},
    {"error": {"type": "denied"}},
    {"is_error": True, "result": "went wrong"},
    {"is_error": True},
    {"error": {"type": "tool_error", "message": "no file /tmp/anna-7 at 10:00:01, pid 17"}},
    {"error": {"type": "tool_error", "message": "no file /tmp/anna-8 at 10:00:02, pid 18"}},
]


# A run: operations on a task


@dataclass
class Run:
    """A world and what was done in it."""

    policy: dict[str, Any]
    manifests: list[dict[str, Any]]
    operations: list[Op] = field(default_factory=list)

    def text(self) -> str:
        lines = [f"policy: {json.dumps(self.policy)}", f"manifests: {json.dumps(self.manifests)}"]
        return "\n".join(lines + [json.dumps(operation) for operation in self.operations])


class Player:
    """Draws what comes next in a run, with habits: calls come again, and bring the same again."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.clock = 0.0
        self.made = 0
        # each run has its own narrow world, so that loops arise in it
        favourites = [draw.choice(["get", *sorted(ARGUMENTS)]) for _ in range(draw.choice([1, 1, 2, 3]))]
        self.tools = favourites * 3 + (sorted(ARGUMENTS) if draw.chance(40) else [])
        structured = [each for each in RESULTS if isinstance(each.get("result"), dict)]
        of = structured if draw.chance(40) else RESULTS
        self.results = [draw.choice(of) for _ in range(draw.choice([1, 2, 4]))]
        self.faults = [draw.choice(FAULTS) for _ in range(draw.choice([1, 2, 4]))]
        self.failing = draw.choice([5, 30, 70])
        theme = draw.choice(["none", "none", "none", "flip", "doubt", "deny", "talk", "pass", "broken"])
        if theme == "flip":  # states that come and go
            self.tools, self.results, self.failing = ["put", "click"], structured[:2], 5
        if theme == "doubt":  # effects that may have happened
            self.tools, self.faults, self.failing = ["send", "put"], [{"error": {"type": "timeout"}}], 50
        if theme == "deny":
            self.tools, self.faults, self.failing = ["send", "get"], [{"error": {"type": "denied"}}], 40
        self.talking = 20 if theme == "talk" else 4
        if theme == "talk":  # looks, and what is said between them
            self.tools, self.results, self.failing = ["get", "get", "page", "put"], structured[:3], 5
        if theme == "pass":  # work that is passed on, with something found now and then
            self.tools, self.failing = ["hand", "hand", "get"], 5
        if theme == "broken":  # a service that is away, and calls that it cannot take
            kinds = [{"status": 503, "message": "try again"}, {"type": "invalid_arguments", "message": "missing key"}]
            self.tools, self.faults, self.failing = ["get", "mystery", "bash"], [{"error": kind} for kind in kinds], 85
        self.answers = draw.choice([["approve", "approve", "deny"], ["approve", "deny", "deny", "deny"], ["deny"]])
        self.surprising = draw.choice([10, 30, 60])
        self.repeating = draw.choice([20, 60, 85])
        self.batching = draw.choice([0, 25, 50])
        self.agents = draw.choice([["root"], ["root"], ["root", "worker"]])
        self.rounds = draw.chance(20)
        self.last: list[dict[str, Any]] = []
        self.usual: dict[str, dict[str, Any]] = {}

    def now(self) -> dict[str, Any]:
        if self.draw.chance(40):
            self.clock += self.draw.choice([0.5, 1.0, 2.5, 11.0])
        return {"now": self.clock}

    def a_call(self) -> dict[str, Any]:
        self.made += 1
        if self.last and self.draw.chance(self.repeating):
            call = self.draw.choice(self.last[-3:])
        else:
            tool = self.draw.choice(self.tools)
            call = {"tool": tool, "arguments": self.draw.choice(ARGUMENTS[tool])}
        self.last.append(call)
        hints = {"hints": {"group": self.draw.choice(["g", None])}} if self.draw.chance(20) else {}
        return {**call, **hints, "call_id": f"c{self.made}"}

    def admit(self) -> Op:
        size = self.draw.choice([2, 3]) if self.draw.chance(self.batching) else 1
        calls = [self.a_call() for _ in range(size)]
        if size > 1 and self.draw.chance(3):
            calls[-1]["call_id"] = calls[0]["call_id"]
        return {"op": "admit", "agent": self.draw.choice(self.agents), "calls": calls, **self.now()}

    def observe(self, call_id: str, tool: str, arguments: dict[str, Any]) -> Op:
        key = json.dumps([tool, arguments])
        if key not in self.usual or self.draw.chance(self.surprising):
            self.usual[key] = self.draw.choice(self.faults if self.draw.chance(self.failing) else self.results)
        return {"op": "observe", "id": call_id, **self.usual[key], **self.now()}

    def other(self) -> Op:
        return self.draw.choice(
            [
                {"op": "event", "event": "user_turn", "by": "human"},
                {"op": "event", "event": "user_turn", "by": "program"},
                {"op": "event", "event": "compaction"},
                {"op": "usage", "tokens": 40, "cost": 1.0},
            ]
        )

    def next(self, task: Task) -> Op:
        """Draw the next operation, as far as the slow engine says what is possible."""
        out, asked = task.history.out(), sorted(task.asked)
        if asked and self.draw.chance(60):
            return {"op": self.draw.choice(self.answers), "id": asked[0], **self.now()}
        if out and self.draw.chance(85):
            call = self.draw.choice(out)
            if self.draw.chance(4):
                return {"op": "abandon", "id": call.id, **self.now()}
            return self.observe(call.id, call.tool.name, call.arguments)
        if self.draw.chance(self.talking):
            return self.other()
        if self.rounds and self.draw.chance(25):
            agent = self.draw.choice(self.agents)
            explicit = agent in task.rounds and task.rounds[agent].explicit and not task.rounds[agent].closed
            return {"op": "close", "agent": agent} if explicit else {"op": "open", "agent": agent, **self.now()}
        return self.admit()


# Both engines behind one face


class Engine(Protocol):
    """What a run needs of an engine; each operation gives what both must agree on."""

    def apply(self, operation: Op) -> View: ...


def view_of_verdict(verdict: Verdict) -> View:
    return {
        "action": verdict.action,
        "reasons": verdict.reasons,
        "code": verdict.code,
        "notes": sorted(verdict.notes),
        "would": verdict.would,
        "coalesced": None if verdict.age is not None else verdict.reuse_of,
        "age": verdict.age,
        "retry_after": verdict.retry_after,
        "exit": verdict.exit,
    }


def view_of_assessment(assessment: Assessment) -> View:
    return {
        "grade": assessment.grade,
        "class": assessment.outcome,
        "notes": sorted(assessment.notes),
        "gain": assessment.gain or 0,
        "gaps": len(assessment.gaps),
        "stop": assessment.stop,
        "cells": assessment.cells,
        "exit": assessment.exit,
    }


def standing(task: Task) -> View:
    return {"status": task.status(), "missing": sorted(task.missing(), key=str)}


class Slow:
    """The slow engine."""

    def __init__(self, run: Run) -> None:
        self.task = Reference(run.policy, run.manifests).task()
        self.rounds: set[str] = set()

    def can(self, operation: Op) -> bool:
        """Tell whether the operation makes sense now; a shrunk run has some that do not."""
        task = self.task
        if operation["op"] in ("open", "close"):
            return (str(operation["agent"]) in self.rounds) == bool(operation["op"] == "close")
        if operation["op"] in ("observe", "abandon"):
            return any(call.id == operation["id"] for call in task.history.out())
        return operation["op"] not in ("approve", "deny") or str(operation["id"]) in task.asked

    def apply(self, operation: Op) -> View:
        """Apply an operation and give what it brought."""
        task = self.task
        given = {name: value for name, value in operation.items() if name not in ("op", "id")}
        match operation["op"]:
            case "admit":
                return {"verdicts": [view_of_verdict(verdict) for verdict in task.admit_all(**copy.deepcopy(given))]}
            case "observe":
                return view_of_assessment(task.observe(operation["id"], **copy.deepcopy(given))) | standing(task)
            case "abandon":
                task.abandon(operation["id"], **given)
            case "approve":
                return view_of_verdict(task.approve(operation["id"], **given))
            case "deny":
                return {"notes": sorted(task.deny(operation["id"], **given))}
            case "event":
                task.event(**given)
            case "usage":
                task.usage(**given)
            case "open":
                self.rounds.add(given["agent"])
                task.begin_round(**given)
            case "close":
                self.rounds.remove(given["agent"])
                return {"notes": sorted(task.end_round(**given))}
        return {}


def difference(run: Run, compiled: Callable[[Run], Engine]) -> tuple[int, View, View] | None:
    """Play a run on both engines; gives the place of the first operation that they disagree on, and both views."""
    slow, fast = Slow(run), compiled(run)
    for place, operation in enumerate(run.operations):
        if not slow.can(operation):
            continue
        expected, found = slow.apply(operation), fast.apply(operation)
        if expected != found:
            return place, expected, found
    return None


def draw_run(draw: Draw, length: int) -> Run:
    """Draw a whole run, following the slow engine."""
    run = Run(policy(draw), [{"tools": tools(draw)}])
    player, slow = Player(draw), Slow(run)
    after_stop = 0
    for _ in range(length):
        operation = player.next(slow.task)
        run.operations.append(operation)
        slow.apply(operation)
        after_stop += slow.task.stopped
        if after_stop > 4:
            break
    return run


def still_differs(run: Run, compiled: Callable[[Run], Engine]) -> bool:
    """Tell whether a smaller run is a valid one that the engines disagree on."""
    try:
        return difference(run, compiled) is not None
    except ValueError:
        return False


def shrink(run: Run, differs: Callable[[Run], bool]) -> Run:
    """Leave out operations, parts of the policy and of the manifests, as long as the engines still differ."""
    changed = True
    while changed:
        changed = False
        for smaller in smaller_runs(run):
            if differs(smaller):
                run, changed = smaller, True
                break
    return run


def smaller_runs(run: Run) -> Iterable[Run]:
    for size in (8, 4, 2, 1):
        for place in range(len(run.operations) - size, -1, -1):
            yield Run(run.policy, run.manifests, run.operations[:place] + run.operations[place + size :])
    for place, operation in enumerate(run.operations):
        if len(operation.get("calls", [])) > 1:
            for member in range(len(operation["calls"])):
                calls = operation["calls"][:member] + operation["calls"][member + 1 :]
                yield Run(
                    run.policy,
                    run.manifests,
                    [*run.operations[:place], {**operation, "calls": calls}, *run.operations[place + 1 :]],
                )
    for part in without_a_key(run.policy):
        yield Run(part, run.manifests, run.operations)
    for part in without_a_key(run.manifests[0]["tools"]):
        yield Run(run.policy, [{"tools": part}], run.operations)


def without_a_key(value: dict[str, Any], depth: int = 3) -> Iterable[dict[str, Any]]:
    for name, inner in value.items():
        if name in ("ladder", "coverage", "min_calls", "retry", "like_get", "extends", "key", "fields"):
            continue
        yield {key: each for key, each in value.items() if key != name}
        if isinstance(inner, dict) and depth > 1:
            for smaller in without_a_key(inner, depth - 1):
                yield {**value, name: smaller}


def main() -> int:
    parser = argparse.ArgumentParser(description="Drive both engines through random runs until they differ.")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--length", type=int, default=40)
    options = parser.parse_args()
    from agreement_compiled import Compiled

    for number in range(options.runs):
        run = draw_run(Seeded(options.seed + number), options.length)
        if difference(run, Compiled) is None:
            continue
        run = shrink(run, lambda smaller: still_differs(smaller, Compiled))
        found = difference(run, Compiled)
        assert found is not None
        place, expected, got = found
        print(f"seed {options.seed + number}, operation {place}\n{run.text()}")
        print(f"slow:     {json.dumps(expected)}\ncompiled: {json.dumps(got)}")
        return 1
    print(f"{options.runs} runs of {options.length} operations: no difference")
    return 0


if __name__ == "__main__":
    sys.exit(main())
