"""For tests: a clock that stands still, and the runner of policy tests.

Example:
    >>> from callgate import Gate
    >>> from callgate.testing import FakeClock
    >>> clock = FakeClock()
    >>> task = Gate.load("default", clock=clock).task("t")
    >>> clock.advance(5.0)
    >>> task.admit("search", {}).allowed
    True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .clock import FakeClock
    from .run import GuardTestResult, GuardTestRun, run_tests
    from .selection import Selection

__all__ = ["FakeClock", "GuardTestResult", "GuardTestRun", "Selection", "run_tests"]

# Found when they are asked for: `callgate check` needs the self-test of this package, and seldom the runner.
_MODULES: Final = {
    "FakeClock": "clock", "GuardTestResult": "run", "GuardTestRun": "run", "Selection": "selection", "run_tests": "run",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
