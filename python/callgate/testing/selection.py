"""Which of the policy tests that were found are run: by words, files and labels."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import PurePath
from typing import NamedTuple

from callgate.policy.load import Document


class Selection(NamedTuple):
    """What a test has to be to be run: all that is said here.

    Args:
        words: texts that its name or the name of its file has in it, in any case; each of them.
        files: patterns (`*`, `?`, `[..]`) of which the path of its file, or the file's name, fits one.
        labels: `KEY` or `KEY=VALUE`; `metadata.labels` has each of them.
    """

    words: Sequence[str] = ()
    files: Sequence[str] = ()
    labels: Sequence[str] = ()

    def takes(self, test: Document) -> bool:
        """Whether a test is run."""
        file = PurePath(test.source.file)
        told = f"{test.name or ''}\n{file.name}".casefold()
        return (
            all(word.casefold() in told for word in self.words)
            and (not self.files or any(fnmatch(file.as_posix(), it) or fnmatch(file.name, it) for it in self.files))
            and all(_has(test, label) for label in self.labels)
        )


def _has(test: Document, label: str) -> bool:
    metadata = test.data.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    key, equals, value = label.partition("=")
    if not isinstance(labels, dict) or key not in labels:
        return False
    return not equals or str(labels[key]) == value
