"""The mark for a result that is not known: None is a result."""

from __future__ import annotations

from typing import Final


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()
"""Says that no result is known; None is a result."""
