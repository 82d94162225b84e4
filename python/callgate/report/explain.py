"""A decision explained, and the course of a session, for people and programs: text, Markdown, JSON."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from callgate._core import CompiledPolicy
from callgate.counted import counted
from callgate.traces.course import Step
from callgate.traces.explanation import Check, Explanation, Finding
from callgate.traces.written import WrittenAt

from .color import paint
from .snippet import printable
from .timeline import shortened, spelled

VERSION: Final = 1
_WORDS: Final = {"allow": "allowed", "reuse": "reused", "ask": "asked", "refuse": "refused", "stop": "stopped"}
_ROLES: Final = {"reused": "refused", "asked": "noted"}
_LONGEST: Final = 2000
_NARROWEST: Final = 60
_TITLES: Final = {
    "checks": "What was looked at, in this order",
    "reads": "What the model reads",
    "ways": "What would have been allowed",
    "course": "The course of the session",
}


class Told(NamedTuple):
    """What there is to tell: the policy, the session, its course where that is wanted, and a decision explained."""

    policy: CompiledPolicy
    session: str
    course: Sequence[Step] | None
    explanation: Explanation | None


def render(told: Told, style: str, color: bool = False, width: int = 100) -> str:
    """The whole in one of `FORMATS`, ending with a line break."""
    return FORMATS[style](told, color, max(width, _NARROWEST))


# text


def _text(told: Told, color: bool, width: int) -> str:
    lines: list[str] = [_policy(told)]
    if told.course is not None:
        lines += ["", paint(_TITLES["course"], "bold", color), *_course(told.course, color, width)]
    if told.explanation is not None:
        lines += ["", *_explained(told.explanation, color, width)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _policy(told: Told) -> str:
    policy = told.policy
    revision = f", revision {printable(policy.revision)}" if policy.revision else ""
    name = printable(policy.name)
    return f"session {printable(told.session)}, policy {name}{revision}, digest {policy.digest[:12]}, {policy.mode}"


def _explained(explained: Explanation, color: bool, width: int) -> Iterator[str]:
    word, row = _WORDS[explained.action], explained.row
    reasons = ", ".join(row["reasons"])
    mode = "" if row["would"] is None else " in mode `enforce`"
    head = f"seq {explained.record['seq']}: {paint(word, _ROLES.get(word, word), color)}{mode}"
    yield head + (f", for {printable(reasons)}" if reasons else "") + (f" ({row['code']})" if row["code"] else "")
    yield from _wrapped(_call(row["tool"], explained.record["arguments"]), "  ", width)
    yield from ("", paint(_TITLES["checks"], "bold", color))
    titles = max(len(check.title) for check in explained.checks)
    for check in explained.checks:
        lead = f"  {check.title:<{titles}}  "
        for at, line in enumerate(_check(check)):
            yield from _wrapped(line, lead if at == 0 else " " * len(lead), width)
    if row["reply"] is not None:
        yield from ("", paint(_TITLES["reads"], "bold", color))
        yield from _wrapped(str(json.loads(row["reply"])["message"]), "  ", width)
    if explained.ways or explained.asked:
        tried = f"{counted(explained.asked, 'change')} tried"
        yield from ("", paint(f"{_TITLES['ways']} ({tried})", "bold", color))
        for way in explained.ways:
            yield from _wrapped(f"- {way.change}", "  ", width)
        if not explained.ways:
            yield "  none of them"


def _check(check: Check) -> Iterator[str]:
    for finding in check.findings:
        yield f"{finding.reason}: {finding.message} -> {finding.action}"
        if finding.evidence:
            yield f"  {_evidence(finding.evidence)}"
        if finding.written is not None:
            yield f"  {_place(finding.written)}"
    if not check.findings or check.title == "rules":
        if check.says:
            yield check.says
        yield from (f"  {_place(place)}" for place in check.written)


def _evidence(evidence: Mapping[str, Any]) -> str:
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in evidence.items()}
    return ", ".join(f"{name} {text}" for name, text in texts.items())


def _place(place: WrittenAt) -> str:
    return f"{place.file}:{place.line}: {shortened(place.text, 90)}"


def _course(course: Sequence[Step], color: bool, width: int) -> Iterator[str]:
    for step in course:
        when = "" if step.time is None else f"  {step.time:g} s"
        if step.event is not None:
            yield from ("", paint(shortened(f"seq {step.seq}{when}  {step.event}", width), "faint", color))
            continue
        word = _verdict(step)
        yield from ("", f"seq {step.seq}{when}  {paint(word, _ROLES.get(word, word), color)}")
        for name, text in _parts(step):
            yield from _wrapped(text, f"  {name:<9} ", width)


def _verdict(step: Step) -> str:
    return "noted" if step.action == "allow" and step.ran and step.reads else _WORDS[step.action]


def _parts(step: Step) -> Iterator[tuple[str, str]]:
    """The rows of a step: what was called, why it was decided as it was, what came back, what the model reads."""
    yield "call", _call(step.tool, step.arguments)
    for reason, message in step.because:
        would = "" if step.would is None else f" (in mode `enforce`: {_WORDS[step.would]})"
        yield "because", f"{reason}: {message}{would}"
    if step.ran and step.failure is not None:
        yield "failure", step.failure
    if step.ran and (step.result is not None or step.failure is None):
        yield "result", json.dumps(step.result, ensure_ascii=False)
    for text in step.reads:
        yield "reads", text
    if step.next not in (None, "continue"):
        yield "next", str(step.next)


def _call(tool: str, arguments: Mapping[str, Any]) -> str:
    return f"{tool}({spelled(arguments)})"


def _wrapped(text: str, lead: str, width: int) -> list[str]:
    shown = shortened(text[:_LONGEST], max(width * 4, 200))
    return textwrap.wrap(
        shown, width, initial_indent=lead, subsequent_indent=" " * len(lead), break_on_hyphens=False,
        drop_whitespace=True,
    ) or [lead]  # fmt: skip


# Markdown


def _markdown(told: Told, color: bool, width: int) -> str:
    lines = [f"# {_plain(_policy(told))}"]
    if told.course is not None:
        lines += [
            "",
            f"## {_TITLES['course']}",
            "",
            "| seq | decided | call | result | reads |",
            "|---|---|---|---|---|",
        ]
        lines += [_markdown_step(step) for step in told.course]
    explained = told.explanation
    if explained is not None:
        reasons = ", ".join(f"`{reason}`" for reason in explained.row["reasons"])
        for_them = f", for {reasons}" if reasons else ""
        lines += ["", f"## Seq {explained.record['seq']}: {_WORDS[explained.action]}{for_them}"]
        lines += ["", _code(_call(explained.row["tool"], explained.record["arguments"]))]
        lines += ["", f"### {_TITLES['checks']}", ""]
        for check in explained.checks:
            first, *rest = [*_check(check), ""]
            lines.append(f"1. **{check.title}**: {_plain(first)}")
            lines += [f"   - {_plain(line.strip())}" for line in rest if line.strip()]
        if explained.row["reply"] is not None:
            message = str(json.loads(explained.row["reply"])["message"])
            lines += ["", f"### {_TITLES['reads']}", "", f"> {_plain(message)}"]
        if explained.asked:
            lines += ["", f"### {_TITLES['ways']} ({counted(explained.asked, 'change')} tried)", ""]
            lines += [f"- {_plain(way.change)}" for way in explained.ways] or ["none of them"]
    return "\n".join(lines) + "\n"


def _markdown_step(step: Step) -> str:
    if step.event is not None:
        return f"| {step.seq} | | {_cell(step.event)} | | |"
    parts = [*_parts(step)]
    why = [text for name, text in parts if name == "because"]
    cells = [
        _verdict(step) + "".join(f"<br>{_cell(text)}" for text in why),
        _cell(parts[0][1]),
        "<br>".join(_cell(text) for name, text in parts if name in ("result", "failure")),
        "<br>".join(_cell(text) for name, text in parts if name in ("reads", "next")),
    ]
    return f"| {step.seq} | {' | '.join(cells)} |"


def _cell(text: str) -> str:
    return _plain(shortened(text, 300)).replace("|", "\\|")


def _plain(text: str) -> str:
    """A text that means nothing to Markdown but code in backticks, and no HTML."""
    return printable(" ".join(text.split())).replace("&", "&amp;").replace("<", "&lt;").replace("*", "\\*")


def _code(text: str) -> str:
    return "`" + shortened(text, 300).replace("`", "'") + "`"


# JSON


def _json(told: Told, color: bool, width: int) -> str:
    policy = told.policy
    body = {
        "version": VERSION,
        "policy": {"name": policy.name, "revision": policy.revision, "digest": policy.digest, "mode": policy.mode},
        "session": told.session,
        "course": None if told.course is None else [_step_data(step) for step in told.course],
        "explanation": None if told.explanation is None else _explanation_data(told.explanation),
    }
    return json.dumps(body, indent=2, ensure_ascii=False) + "\n"


def _step_data(step: Step) -> dict[str, Any]:
    if step.event is not None:
        return {"seq": step.seq, "time": step.time, "event": step.event}
    body = {**step._asdict(), "because": [{"reason": reason, "message": text} for reason, text in step.because]}
    body.pop("event")
    return {**body, "reads": list(step.reads)}


def _explanation_data(explained: Explanation) -> dict[str, Any]:
    row, record = explained.row, explained.record
    return {
        "session": record["session"], "seq": record["seq"], "tool": row["tool"], "arguments": record["arguments"],
        "action": row["action"], "would": row["would"], "code": row["code"], "reasons": row["reasons"],
        "checks": [
            {
                "check": check.title, "says": check.says, "written": [place._asdict() for place in check.written],
                "findings": [_finding_data(finding) for finding in check.findings],
            }
            for check in explained.checks
        ],
        "reply": None if row["reply"] is None else json.loads(row["reply"]),
        "allowed_instead": [way._asdict() for way in explained.ways],
        "tried": explained.asked,
    }  # fmt: skip


def _finding_data(finding: Finding) -> dict[str, Any]:
    return {**finding._asdict(), "written": None if finding.written is None else finding.written._asdict()}


FORMATS: Final[Mapping[str, Callable[[Told, bool, int], str]]] = {"text": _text, "json": _json, "markdown": _markdown}
"""What `render` can make of it."""
