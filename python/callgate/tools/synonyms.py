"""Words that people and definitions use for one another: a small thesaurus, and words that say little or nothing."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

_PREPOSITIONS: Final = frozenset(("to", "with", "for", "at", "after"))
_STOP: Final = """
a an and any are as at be been by can could did do does for from give go had has have he her him his how i if in into is
it its just let me more my no not of on one or our out she should show so some something such tell than that the their
them then there these they this those to up us want was we were what whom whose will with would you your please need
must may might still again already now about
"""
_WEAK: Final = """
make put take bring keep last next first second third week month day hour minute time today tomorrow yesterday tonight
year quarter moment ages new old thing people way look know many much where when why who which
"""
STOP: Final = frozenset(_STOP.split())
"""Words that say nothing."""
WEAK: Final = frozenset(_WEAK.split())
"""Words that say little: light verbs, times, words that ask."""


def meant(text: str) -> list[str]:
    """Words that stand for the turns of phrase in a text; before an adverb other words may stand.

    >>> meant("write that down, and send it back")
    ['return', 'log', 'note', 'record']
    """
    words = text.split()
    found: dict[str, None] = {}
    for phrase, meaning in _phrases().items():
        if _holds(words, phrase):
            found.update(dict.fromkeys(meaning))
    return list(found)


@cache
def _phrases() -> dict[tuple[str, ...], tuple[str, ...]]:
    lines = (line.partition(":") for line in _lines("phrases"))
    return {tuple(phrase.split()): tuple(meaning.split()) for phrase, _, meaning in lines}


def _holds(words: list[str], phrase: tuple[str, ...]) -> bool:
    """Whether the words of a phrase stand in this order; before what is no preposition at most two others."""
    first = phrase[0]
    for at, word in enumerate(words):
        here = word.strip(".,;:!?")
        if first not in (here, *forms_of(here), *_stems(here)):
            continue
        for part in phrase[1:]:
            reach = 1 if part in _PREPOSITIONS else 3
            after = [other.strip(".,;:!?") for other in words[at + 1 : at + 1 + reach]]
            if part not in after:
                break
            at += 1 + after.index(part)
        else:
            return True
    return False


def forms_of(word: str) -> list[str]:
    """A word and its forms that no ending tells.

    >>> forms_of("paid")
    ['paid', 'pay']
    """
    return [word, *sorted(_forms().get(word, frozenset()))]


def related(word: str) -> list[str]:
    """Words that stand for a word, itself left out.

    >>> related("vendors")
    ['seller', 'supplier']
    """
    stems = [stem for form in forms_of(word) for stem in _stems(form)]
    found = {other for stem in stems for other in _table().get(stem, ())}
    return sorted(found.difference(stems))


@cache
def _forms() -> dict[str, frozenset[str]]:
    return _grouped(_lines("forms"))


@cache
def _table() -> dict[str, frozenset[str]]:
    return _grouped(_lines("groups"))


def _lines(name: str) -> list[str]:
    """The lines of a file of the thesaurus, comments left out."""
    text = (Path(__file__).parent / "thesaurus" / f"{name}.txt").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if not line.startswith("#")]


def _grouped(lines: list[str]) -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for line in lines:
        group = line.replace("-", " ").split()
        for word in group:
            table.setdefault(word, set()).update(other for other in group if other != word)
    return {word: frozenset(others) for word, others in table.items()}


def _stems(word: str) -> list[str]:
    """A word, and what is left of it without the endings of English.

    >>> _stems("shelves")
    ['shelves', 'shelve', 'shelv', 'shelf']
    """
    found = [word]
    if word.endswith("ies") and len(word) > 4:
        found.append(word[:-3] + "y")
    if word.endswith("s") and len(word) > 3 and not word.endswith("ss"):
        found.append(word[:-1])
    for ending in ("es", "ed", "er", "est", "ing", "al", "ly"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            stem = word[: -len(ending)]
            found += [stem, stem + "e"] if ending in ("ed", "er", "est", "ing") else [stem]
            if len(stem) > 3 and stem[-1] == stem[-2]:
                found.append(stem[:-1])
    if word.endswith("ves") and len(word) > 4:
        found.append(word[:-3] + "f")
    return list(dict.fromkeys(found))
