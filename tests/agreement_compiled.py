"""The compiled engine, through its public face, on the runs that both engines play."""

from typing import Any

from agreement import Op, Run, View
from callgate import Assessment, Gate, Note, Task, Verdict, _core


class Compiled:
    """The compiled engine."""

    def __init__(self, run: Run) -> None:
        policy, faults = _core.compile_policy(
            document("GuardPolicy", run.policy),
            [(f"tools-{place}", document("ToolManifest", each)) for place, each in enumerate(run.manifests)],
        )
        if policy is None:
            raise ValueError(f"the run's policy has faults: {faults}")
        self.agents = {"root": Gate(policy).task("run")}
        self.now = 0.0

    def agent(self, name: str) -> Task:
        """The agent's view of the task; the first call of another agent makes it a child of the root."""
        if name not in self.agents:
            self.agents[name] = self.agents["root"].child(name, now=self.now)
        return self.agents[name]

    def apply(self, operation: Op) -> View:
        """Apply an operation and give what it brought."""
        self.now = now = operation.get("now", self.now)
        task = self.agent(operation.get("agent", "root"))
        told = {name: value for name, value in operation.items() if name not in ("op", "id", "agent", "now", "event")}
        match operation["op"]:
            case "admit":
                return {"verdicts": [view_of_verdict(each) for each in task.admit_all(told["calls"], now=now)]}
            case "observe":
                return view_of_assessment(task.observe(operation["id"], now=now, **told)) | standing(task)
            case "abandon":
                task.abandon(operation["id"], now=now)
            case "approve":
                return view_of_verdict(task.approve(operation["id"], now=now))
            case "deny":
                return {"notes": pairs(task.deny(operation["id"], now=now))}
            case "event" if operation["event"] == "user_turn":
                task.user_turn(now=now, **told)
            case "event":
                task.compaction(now=now)
            case "usage":
                task.usage(now=now, **told)
            case "open":
                task._state.begin_round(task.agent, now)
            case "close":
                return {"notes": pairs(task._state.end_round(task.agent)[0])}
        return {}


def document(kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "callgate/v1", "kind": kind, "metadata": {"name": "run", "revision": "1"}, "spec": spec}


def pairs(notes: list[Note] | tuple[Note, ...]) -> list[tuple[str, str]]:
    return sorted((note.call_id, note.reason) for note in notes)


def view_of_verdict(verdict: Verdict) -> View:
    return {
        "action": verdict.action,
        "reasons": list(verdict.reasons),
        "code": verdict.code,
        "notes": pairs(verdict.notes),
        "would": verdict.would,
        "coalesced": verdict.reuse_of,
        "age": verdict.result_age,
        "retry_after": verdict.retry_after,
        "exit": verdict.stop.exit if verdict.stop and verdict.action == "stop" else None,
    }


def view_of_assessment(assessment: Assessment) -> View:
    return {
        "grade": assessment.grade,
        "class": assessment.error_class,
        "notes": pairs(assessment.notes),
        "gain": assessment.gain,
        "gaps": len(assessment.gaps),
        "stop": [assessment.stop.reason] if assessment.stop else [],
        "cells": assessment.cells,
        "exit": assessment.stop.exit if assessment.stop else None,
    }


def standing(task: Task) -> View:
    report = task.report()
    missing = [(None if key is None else _core.canonical_json(key), name) for key, name in report["missing"]]
    return {"status": report["status"], "missing": sorted(missing, key=str)}
