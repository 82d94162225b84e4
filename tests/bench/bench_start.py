"""What it costs until callgate is there: its import, and `callgate check` of a pack, each in a fresh interpreter.

Processor time of the child, not wall time, which a busy machine multiplies. Both sides wait for nothing else: the files
that they read are in the cache after the first run, and so is the bytecode of all modules, as it is once a package was
installed: it is kept beside nothing, in a folder of its own, whatever the environment says about writing it.
"""

import os
import statistics
import sys
import tempfile
from pathlib import Path

from .row import Paired, Row

PACK = Path(__file__).parents[2] / "policies" / "default"
CHECK = "import sys; from callgate.cli.main import main; sys.exit(main(sys.argv[1:]))"
CASES = (
    ("import callgate", ["-c", "import callgate"], 0.060),
    ("callgate check policies/default", ["-c", CHECK, "check", str(PACK)], 0.120),
)
REPEATS = 31


def rows() -> list[Row]:
    """Measure."""
    table = []
    for what, arguments, more in CASES:
        with tempfile.TemporaryDirectory() as bytecode:
            environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
            environment.pop("PYTHONDONTWRITEBYTECODE", None)
            _seconds(arguments, environment)
            bare = ["-c", "pass"]
            pairs = [(_seconds(arguments, environment), _seconds(bare, environment)) for _ in range(REPEATS)]
        times = Paired([ours for ours, _ in pairs], [bare for _, bare in pairs])
        took = statistics.median(times.baseline)
        # the bar is a number of milliseconds beyond the bare interpreter, so as a ratio it moves with what that took
        table.append(
            times.row(f"{what}, CPU time, + {more * 1000:.0f} ms at most", "python -c pass", (took + more) / took)
        )
    return table


def _seconds(arguments: list[str], environment: dict[str, str]) -> float:
    """Processor time of one interpreter, in seconds."""
    with Path(os.devnull).open("wb") as nothing:
        actions = [(os.POSIX_SPAWN_DUP2, nothing.fileno(), 1)]
        child = os.posix_spawn(sys.executable, [sys.executable, *arguments], environment, file_actions=actions)
        _, status, used = os.wait4(child, 0)
    if status != 0:
        raise RuntimeError(f"{arguments} ended with {os.waitstatus_to_exitcode(status)}")
    return used.ru_utime + used.ru_stime
