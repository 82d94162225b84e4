"""What `check` says of the manifest `shop` beside a policy that names it, for tests that write its tools."""

from __future__ import annotations

from pathlib import Path

from callgate.policy.check import check
from callgate.policy.load import load

HEAD = """\
apiVersion: callgate/v1
kind: GuardPolicy
metadata: {name: desk}
spec: {extends: [default], tools: [shop]}
---
apiVersion: callgate/v1
kind: ToolManifest
metadata: {name: shop}
spec:
  tools:
"""


def told(folder: Path, tools: str, *codes: str) -> list[tuple[str, str, str, str, str | None]]:
    """Code, severity, `line:column`, message and hint of each diagnostic of these codes."""
    (folder / "desk.yaml").write_text(HEAD + tools)
    return [
        (each.code, each.severity, f"{each.span.line}:{each.span.column}" if each.span else "", each.message, each.hint)
        for each in check(load([folder]))
        if each.code in codes
    ]
