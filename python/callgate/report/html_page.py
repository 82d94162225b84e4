"""Self-contained HTML pages: every text escaped, one style sheet, no script, nothing loaded from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterable
from typing import Final

from .html_style import STYLE
from .snippet import printable

_VOID: Final = frozenset({"meta", "br", "line", "rect", "circle", "polyline", "path"})


class Markup(str):
    """Text that is markup already. Only `tag` and `joined` make it; whatever else is a text, and is escaped."""

    __slots__ = ()


Child = Markup | str | None


def text(value: str) -> Markup:
    """A text as markup in which no sign means anything; control characters are shown, not sent.

    >>> text("<b>\\x1b")
    '&lt;b&gt;\\\\x1b'
    """
    return Markup(html.escape(printable(value)))


def tag(name: str, /, *children: Child, **attributes: str | None) -> Markup:
    """An element; texts in it are escaped, None is left out. `class_` and `data_label` are `class` and `data-label`.

    >>> tag("a", "<x>", class_="y", title=None)
    '<a class="y">&lt;x&gt;</a>'
    """
    inside = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(printable(value), quote=True)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Markup(f"<{name}{inside}>" if name in ("meta", "br") else f"<{name}{inside}/>")
    return Markup(f"<{name}{inside}>{joined(children)}</{name}>")


def joined(children: Iterable[Child]) -> Markup:
    """Several pieces one after the other."""
    pieces = (child if isinstance(child, Markup) else text(child) for child in children if child is not None)
    return Markup("".join(pieces))


def worded(value: str) -> Markup:
    """A sentence, with what stands in back quotes as code."""
    parts = value.split("`")
    if len(parts) % 2 == 0:
        return text(value)
    return joined(tag("code", part) if at % 2 else part for at, part in enumerate(parts))


def table(
    caption: str, heads: Iterable[str], rows: Iterable[Iterable[Child]], *, numbers: Iterable[int] = ()
) -> Markup:
    """A table; on a narrow page each row is a block, and each cell says what it is.

    Args:
        caption: what the table is about; for those who do not see it.
        heads: the names of the columns.
        rows: the cells, as markup or text.
        numbers: columns of numbers, from 0.
    """
    titles, right = list(heads), frozenset(numbers)
    head = tag(
        "tr", *(tag("th", title, scope="col", class_="n" if at in right else None) for at, title in enumerate(titles))
    )
    body = [
        tag(
            "tr",
            *(
                tag("td", cell, data_label=titles[at], class_="n" if at in right else None)
                for at, cell in enumerate(row)
            ),
        )
        for row in rows
    ]
    hidden = tag("caption", caption, class_="unseen")
    return tag("div", tag("table", hidden, tag("thead", head), tag("tbody", *body)), class_="scroll")


def tiles(items: Iterable[tuple[str, str, str | None]]) -> Markup:
    """Large numbers: each with its words, and the role that colours it."""
    return tag(
        "dl",
        *(
            tag("div", tag("dt", words), tag("dd", number), class_=f"tile {role or ''}".strip())
            for number, words, role in items
        ),
        class_="tiles",
    )


def section(title: str, *children: Child, id_: str | None = None) -> Markup:
    """A part of the page under its own heading."""
    return tag("section", tag("h2", title), *children, id=id_)


def page(title: str, *children: Child) -> str:
    """A whole document. Its policy lets nothing be loaded and nothing run: only its own style counts."""
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    rules = f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{html.escape(rules, quote=False)}">'),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title),
        # so that no browser asks for an icon
        Markup('<link rel="icon" href="data:,">'),
        Markup(f"<style>{STYLE}</style>"),
    )
    body = tag(
        "body",
        tag("main", *children),
        tag("footer", "Made by callgate. Nothing on this page is loaded from elsewhere."),
    )
    return f'<!doctype html>\n<html lang="en">\n{head}\n{body}\n</html>\n'
