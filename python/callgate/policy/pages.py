"""The pages of diagnostics and reasons, as they travel with the package."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

__all__ = ["Page", "diagnostic_codes", "pages", "pages_root"]


class Page(NamedTuple):
    """A page: the code or reason that it is about, its name, its first sentence, and where it lies."""

    code: str
    name: str
    says: str
    path: Path


def pages_root() -> Path:
    """Give the folder of the pages: `diagnostics` with a page a code, `reasons` with a page a reason.

    Works alike in a checkout and in an install from a wheel: in the repository both are links into `docs`.

    Raises:
        FileNotFoundError: the installation lost its pages.
    """
    root = Path(__file__).parent.parent / "pages"
    if not (root / "diagnostics").is_dir() or not (root / "reasons").is_dir():
        raise FileNotFoundError(f"the pages that ship with callgate are missing at `{root}`: install callgate again")
    return root


def pages() -> list[Page]:
    """Every page: diagnostics by code, then reasons by name.

    >>> [page.name for page in pages() if page.code == "CG301"]
    ['cel-syntax']
    """
    return [
        _page(path)
        for folder in ("diagnostics", "reasons")
        for path in sorted((pages_root() / folder).glob("*.md"))
        if path.stem != "README"
    ]


def diagnostic_codes() -> list[str]:
    """Every code of a diagnostic, without reading its page.

    >>> "CG301" in diagnostic_codes()
    True
    """
    return sorted(path.stem for path in (pages_root() / "diagnostics").glob("CG*.md"))


def _page(path: Path) -> Page:
    title, _, body = path.read_text(encoding="utf-8").partition("\n")
    code, _, name = title.removeprefix("# ").partition(" ")
    return Page(code, name, body.strip().partition("\n\n")[0], path)
