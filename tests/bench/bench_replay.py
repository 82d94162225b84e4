"""Replay of JSON lines under a full policy, against `orjson.loads` of the same lines; one core.

The policy is the default pack with all its detectors and budgets, over a manifest that declares the tools, so that
every detector has something to do. Where the recorded data sets are at hand, they are measured too.
"""

import gzip
import json
import os
import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson

from callgate import _core
from callgate.policy.open import open_policy

from .row import Row, paired

CHUNK = 1 << 20
BAR = 5.0
DOCUMENTS = """\
apiVersion: callgate/v1
kind: GuardPolicy
metadata: {name: bench}
spec: {extends: [default]}
---
apiVersion: callgate/v1
kind: ToolManifest
metadata: {name: tools}
spec:
  tools:
    search: {effect: read, identity: {trim: [q], casefold: [q]}, result: {records: result.hits, key: [id]}}
    read_file: {effect: read, identity: {paths: [path], target: [path]}}
    edit_file: {effect: write, identity: {target: [path]}, result: {state: result.sha}}
    shell: {effect: unknown}
"""


def policy() -> _core.CompiledPolicy:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "policy.yaml").write_text(DOCUMENTS, encoding="utf-8")
        compiled = open_policy(folder).compiled
    assert compiled is not None
    return compiled


def generated(sessions: int) -> Iterator[bytes]:
    """Sessions of 10 to 60 calls of an agent that searches, reads, edits and runs things; one in ten gets stuck."""
    dice = random.Random(7)
    words = ["".join(dice.choices("abcdefghijklmnopqrstuvwxyz", k=dice.randint(2, 11))) for _ in range(5000)]

    def text(size: int) -> str:
        return " ".join(dice.choices(words, k=size // 7))

    def call(stuck: bool) -> dict[str, object]:
        path = f"src/{dice.choice(words)}.py"
        kind = "stuck" if stuck else dice.choices(["search", "read", "edit", "shell", "fail"], [3, 4, 3, 4, 1])[0]
        if kind == "stuck":
            return {"tool": "shell", "arguments": {"command": "make test"}, "result": "2 failed", "is_error": True}
        if kind == "search":
            hits = [{"id": dice.randrange(10_000), "path": path, "line": text(60)} for _ in range(dice.randint(0, 8))]
            return {"tool": "search", "arguments": {"q": text(20), "limit": 10}, "result": {"hits": hits}}
        if kind == "read":
            return {"tool": "read_file", "arguments": {"path": path}, "result": text(dice.randint(100, 1800))}
        if kind == "edit":
            sha = f"{dice.getrandbits(160):040x}"
            return {"tool": "edit_file", "arguments": {"path": path, "text": text(300)}, "result": {"sha": sha}}
        failed = {"is_error": True, "error": {"type": "exit_nonzero", "message": text(80)}} if kind == "fail" else {}
        return {"tool": "shell", "arguments": {"command": text(60)}, "result": text(dice.randint(20, 900)), **failed}

    for session in range(sessions):
        length, stuck = dice.randint(10, 60), session % 10 == 0
        for seq in range(length):
            record = {"session": f"s{session}", "seq": seq, "time": seq * 4.0, "duration": 1.5, "call_id": f"c{seq}"}
            yield json.dumps({**record, **call(stuck and seq > length // 2)}).encode() + b"\n"


def parsing(lines: list[bytes]) -> Callable[[], None]:
    def parse() -> None:
        for line in lines:
            orjson.loads(line)

    return parse


def replaying(compiled: _core.CompiledPolicy, chunks: list[bytes], rows: bool = False) -> Callable[[], None]:
    def replay() -> None:
        state = _core.Replay(compiled, rows=rows)
        for chunk in chunks:
            faults = state.feed(chunk)
            assert not faults, faults[0]
            if rows:
                state.take_lines()
        state.finish()

    return replay


def chunked(lines: list[bytes]) -> list[bytes]:
    """The lines in pieces as `callgate replay` reads them."""
    pieces: list[list[bytes]] = [[]]
    size = 0
    for line in lines:
        if size > CHUNK:
            pieces.append([])
            size = 0
        pieces[-1].append(line)
        size += len(line)
    return [b"".join(piece) for piece in pieces]


def rows() -> list[Row]:
    """Make the rows of the table."""
    compiled = policy()
    lines = list(generated(600))
    chunks, baseline, count = chunked(lines), "orjson.loads", len(lines)
    mean = sum(map(len, lines)) // count
    what = f"replay, a line of {mean} B, generated"
    found = [paired(replaying(compiled, chunks), parsing(lines), 9).row(what, baseline, BAR, count)]
    logged = paired(replaying(compiled, chunks, rows=True), parsing(lines), 5)
    found.append(logged.row("the same with a decision log", baseline, None, count))
    root = Path(__file__).resolve().parent.parent.parent
    shared = Path(os.environ.get("CALLGATE_SHARED") or root.parent / "shared") / "traces"
    for path in sorted(shared.glob("*.jsonl.gz")):
        lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
        if len(lines) > 500:
            what = f"replay, {path.name.removesuffix('.jsonl.gz')}"
            pair = paired(replaying(compiled, chunked(lines)), parsing(lines), 3)
            found.append(pair.row(what, baseline, None, len(lines)))
    return found
