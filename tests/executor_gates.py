"""Gates over small manifests for the tests of the executor, and tools that fail as often as they are told to."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from callgate import Gate
from callgate.runtime.pauses import Pauses

HEAD = "apiVersion: callgate/v1\n"


def gate(
    folder: Path, tools: str, policy: str = "", *, server: str = "", pauses: Pauses | None = None, **more: Any
) -> Gate:
    """A gate over `tools` (lines of a manifest) under `default`, with lines of `policy` on top."""
    named = f"  server: {server}\n" if server else ""
    (folder / "policy.yaml").write_text(
        f"{HEAD}kind: GuardPolicy\nmetadata: {{name: p}}\nspec:\n  extends: [default]\n  tools: [t]\n{policy}"
        f"---\n{HEAD}kind: ToolManifest\nmetadata: {{name: t}}\nspec:\n{named}  tools:\n{tools}"
    )
    return Gate.load(folder / "policy.yaml", pauses=pauses, **more)


class Flaky:
    """A tool that raises what it is given, one after the other, and then answers."""

    __name__ = "flaky"

    def __init__(self, *errors: BaseException, answer: Any = "done") -> None:
        self.errors = list(errors)
        self.answer = answer
        self.asked: list[dict[str, Any]] = []
        self._lock = threading.Lock()

    def __call__(self, **arguments: Any) -> Any:
        with self._lock:
            self.asked.append(arguments)
            error = self.errors.pop(0) if self.errors else None
        if error is not None:
            raise error
        return self.answer


class Waits:
    """A tool that does not answer before it is let go."""

    __name__ = "waits"

    def __init__(self) -> None:
        self.asked = 0
        self.go = threading.Event()
        self.began = threading.Event()
        self.ended = threading.Event()

    def __call__(self, **arguments: Any) -> str:
        self.asked += 1
        self.began.set()
        self.go.wait(30)
        self.ended.set()
        return "late"


def noted(waited: list[float], chance: Callable[[], float] = lambda: 0.5) -> Pauses:
    """Pauses that are written down instead of waited for."""

    async def note(seconds: float) -> None:
        waited.append(seconds)

    return Pauses(chance, waited.append, note)
