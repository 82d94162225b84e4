"""Texts that outlive their process, and who may save the next one."""

from __future__ import annotations

from dataclasses import dataclass

from .errors import SessionConflict


@dataclass(frozen=True, slots=True)
class Session:
    """A text that outlives its process, such as a task's snapshot. Each time it is saved `version` is one more."""

    id: str
    version: int
    text: str


def next_version(there: Session | None, session_id: str, text: str, expected: int) -> int:
    """The version under which a text is saved.

    Args:
        there: what is saved under its id.
        session_id: the id.
        text: what is to be saved.
        expected: the version that whoever saves it has seen.

    Raises:
        SessionConflict: it is another version.
    """
    version = 0 if there is None else there.version
    if version == expected:
        return expected + 1
    if there is not None and version == expected + 1 and there.text == text:
        return version  # saved already, and the answer was lost
    raise SessionConflict(
        f"session `{session_id}` is at version {version}, not {expected}: another process goes on with it"
    )
