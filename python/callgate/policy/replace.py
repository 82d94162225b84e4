"""A file's content replaced whole or not at all: whatever happens meanwhile, the old or the new content is there."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path


class ChangedMeanwhile(Exception):
    """A file is no longer what was read of it."""


def replace_content(path: Path, data: bytes, *, instead_of: bytes) -> None:
    """Replace what a file holds. Its mode stays, and a symbolic link stays one: what it leads to is replaced.

    The new content is written beside the file and on the disk before it takes the place of the old one.

    Args:
        path: a file that is there.
        data: what it shall hold.
        instead_of: what it held when it was read.

    Raises:
        ChangedMeanwhile: it holds something else by now, which stays.
        OSError: it cannot be written; the file is as it was.
    """
    target = Path(os.path.realpath(path))
    mode = stat.S_IMODE(target.stat().st_mode)
    with target.open("r+b"):
        pass  # a file that must not be written is not replaced by one that may be; the system says why
    beside = target.with_name(f".callgate-{os.getpid()}.part")
    try:
        with beside.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fchmod(stream.fileno(), mode)
            os.fsync(stream.fileno())
        if target.read_bytes() != instead_of:
            raise ChangedMeanwhile(str(path))
        beside.replace(target)
    finally:
        with suppress(OSError):
            beside.unlink()
