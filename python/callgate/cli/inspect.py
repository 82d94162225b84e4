"""Look through a message list of OpenAI or Anthropic for results that are lost, torn off, cut short or misplaced."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from callgate.cli import UsageError
from callgate.messages import MessageError, inspect, passes, repair
from callgate.messages.parts import plain_messages
from callgate.messages.shape import SHAPES, detect
from callgate.report.color import wanted
from callgate.report.messages import render_json, render_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `callgate inspect` takes."""
    parser.add_argument(
        "messages",
        metavar="MESSAGES.json",
        help="a list, or a request with `messages` or `input`; `.jsonl`: a message a line; `-`: stdin",
    )
    parser.add_argument("--shape", choices=list(SHAPES), help="the provider's shape (default: told by the list)")
    parser.add_argument(
        "--policy", metavar="P", help="a pack, policy file or folder that says which calls are the same"
    )
    parser.add_argument("--open-turn", action="store_true", help="the calls of the last turn are still running")
    parser.add_argument("--repair", metavar="OUT.json", help="write the mended list; `-` prints it instead of findings")
    parser.add_argument("--strict", action="store_true", help="warnings count as errors")
    parser.add_argument(
        "--format", choices=["text", "json"], default="text", help="how findings come out (default: text)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Look, print, and give the exit code: 0 in order, 1 errors (with `--strict` warnings too), 2 no message list."""
    body = _read(arguments.messages)
    key = next(
        (name for name in ("messages", "input") if isinstance(body, dict) and isinstance(body.get(name), list)), None
    )
    listed = body[key] if key is not None else body
    try:
        messages = plain_messages(listed)
    except MessageError as error:
        raise UsageError(f"{arguments.messages}: {error}") from None
    shape = arguments.shape or ("openai_responses" if key == "input" else detect(messages))
    policy = _policy(arguments.policy) if arguments.policy is not None else None
    findings = inspect(messages, shape=shape, policy=policy, open_turn=arguments.open_turn)
    if arguments.repair is not None:
        mended = repair(messages, shape=shape)
        _write(arguments.repair, mended if key is None else {**body, key: mended})
    if arguments.repair != "-":
        if arguments.format == "json":
            sys.stdout.write(render_json(findings, arguments.messages, len(messages), shape))
        else:
            sys.stdout.write(render_text(findings, arguments.messages, len(messages), shape, wanted(sys.stdout)))
    return 0 if passes(findings) and not (arguments.strict and findings) else 1


def _read(name: str) -> Any:
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"cannot read `{name}`: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{name}: this is not UTF-8 text") from None
    text = text.removeprefix("\ufeff")  # of standard input
    if name.endswith(".jsonl"):
        return [_json(line, name, number) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    return _json(text, name, None)


def _json(text: str, name: str, line: int | None) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(f"{name}:{line or error.lineno}:{error.colno}: this is no JSON: {error.msg.lower()}") from None
    except (RecursionError, ValueError) as error:
        raise UsageError(f"{name}: this JSON cannot be read: {str(error).lower()}") from None


def _write(name: str, body: Any) -> None:
    text = json.dumps(body, indent=2, ensure_ascii=False) + "\n"
    if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
        text = json.dumps(body, indent=2) + "\n"  # half of a character has no form in UTF-8, but an escape
    if name == "-":
        sys.stdout.write(text)
        return
    try:
        Path(name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write `{name}`: {(error.strerror or str(error)).lower()}") from None


def _policy(where: str) -> Any:
    from callgate.policy.open import open_policy
    from callgate.report.findings import Findings, render

    opened = open_policy(where)
    if opened.compiled is None:
        findings = Findings(opened.diagnostics, opened.loaded.sources, len(opened.loaded.files))
        sys.stderr.write(render(findings, "text", wanted(sys.stderr)))
        raise UsageError(f"the policy `{where}` cannot be used")
    return opened.compiled
