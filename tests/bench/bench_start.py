"""What it costs until callgate is there: its import, and `callgate check` of each shipped pack, in fresh interpreters.

Wall time is what somebody waits for; processor time of the child says more on a busy machine. The files that are read
are in the cache after the first run, and so is the bytecode of all modules, as it is once a package was installed: it
is kept beside nothing, in a folder of its own, whatever the environment says about writing it.
"""

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Final, NamedTuple

from .row import Paired, Row

PACKS: Final = Path(__file__).parents[2] / "policies"
# as the installed command does
CHECK: Final = "import sys; from callgate.cli.main import main; sys.exit(main())"
BARE: Final = ("-c", "pass")
REPEATS: Final = 31


class Case(NamedTuple):
    """What is started, and how many seconds it may take beyond a bare interpreter."""

    what: str
    arguments: tuple[str, ...]
    more: float


class Took(NamedTuple):
    """Seconds of one interpreter, from its start until it is gone."""

    wall: float
    processor: float


def cases() -> list[Case]:
    """The import, and a check of every pack that ships."""
    packs = sorted(path for path in PACKS.iterdir() if path.is_dir())
    checks = [Case(f"callgate check {pack.name}", ("-c", CHECK, "check", str(pack)), 0.120) for pack in packs]
    return [Case("import callgate", ("-c", "import callgate"), 0.060), *checks]


def rows() -> list[Row]:
    """Measure each case in turns with a bare interpreter, which goes first in every other pair."""
    table = []
    with tempfile.TemporaryDirectory() as bytecode:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for case in cases():
            _took(case.arguments, environment)
            ours, bare = [], []
            for repeat in range(REPEATS):
                for is_ours in (True, False) if repeat % 2 == 0 else (False, True):
                    (ours if is_ours else bare).append(_took(case.arguments if is_ours else BARE, environment))
            table += [
                _row(case, "wall", [took.wall for took in ours], [took.wall for took in bare]),
                _row(case, "CPU", [took.processor for took in ours], [took.processor for took in bare]),
            ]
    return table


def _row(case: Case, clock: str, ours: list[float], bare: list[float]) -> Row:
    took = statistics.median(bare)
    # the bar is a number of milliseconds beyond the bare interpreter, so as a ratio it moves with what that took
    bar = (took + case.more) / took
    return Paired(ours, bare).row(f"{case.what}, {clock}, + {case.more * 1000:.0f} ms at most", "python -c pass", bar)


def _took(arguments: tuple[str, ...], environment: dict[str, str]) -> Took:
    with Path(os.devnull).open("wb") as nothing:
        actions = [(os.POSIX_SPAWN_DUP2, nothing.fileno(), 1)]
        start = time.perf_counter()
        child = os.posix_spawn(sys.executable, [sys.executable, *arguments], environment, file_actions=actions)
        _, status, used = os.wait4(child, 0)
        wall = time.perf_counter() - start
    if status != 0:
        raise RuntimeError(f"{arguments} ended with {os.waitstatus_to_exitcode(status)}")
    return Took(wall, used.ru_utime + used.ru_stime)
