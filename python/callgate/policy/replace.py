"""A file's content replaced whole or not at all: whatever happens meanwhile, the old or the new content is there."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path


def replace_content(path: Path, data: bytes) -> None:
    """Replace what a file holds. Its mode stays, and a symbolic link stays one: what it leads to is replaced.

    The new content is written beside the file and on the disk before it takes the place of the old one.

    Args:
        path: a file that is there.
        data: what it shall hold.

    Raises:
        OSError: it cannot be written; the file is as it was.
    """
    target = Path(os.path.realpath(path))
    mode = stat.S_IMODE(target.stat().st_mode)
    if not os.access(target, os.W_OK):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    beside = target.with_name(f".callgate-{os.getpid()}.part")
    try:
        with beside.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fchmod(stream.fileno(), mode)
            os.fsync(stream.fileno())
        beside.replace(target)
    finally:
        with suppress(OSError):
            beside.unlink()
