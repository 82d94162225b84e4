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

from .clock import FakeClock
from .run import GuardTestResult, GuardTestRun, run_tests

__all__ = ["FakeClock", "GuardTestResult", "GuardTestRun", "run_tests"]
