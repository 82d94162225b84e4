"""Full-text search over tool definitions, by SQLite's FTS5: the few that a step needs, and the tokens it saves."""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from .definitions import ToolDefinition, definitions_of
from .synonyms import STOP, WEAK, forms_of, meant, related

# Chosen on the questions in tests/data, in the middle of a wide plateau.
_WEIGHTS: Final = {"name": 4.0, "description": 3.0, "parameters": 0.5, "groups": 2.0}
_RELATED: Final = 0.65
"""What a word counts that is only related to one that was asked for."""
_FURTHER: Final = 0.25
"""What further related words count beside the best one."""
_WEAK_COUNTS: Final = 0.5
"""What a word of the query counts that says little."""
_COVERAGE: Final = 0.6
"""The power to which the share of the query that a tool covers is taken."""
_QUERY: Final = f"SELECT rowid, -bm25(tools, {', '.join(map(str, _WEIGHTS.values()))}) FROM tools WHERE tools MATCH ?"
_MOST_KNOWN: Final = 10_000
_WORD: Final = re.compile(r"[^\W_]+")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# Chinese and Japanese write no blanks: pairs of signs stand for words, in definitions and in questions alike.
_SIGNS: Final = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+")
# What a thing looks like says what it is.
_HINTS: Final = (
    (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b"), "network address host"),
    (re.compile(r"\bhttps?://|\bwww\.", re.IGNORECASE), "web page website host"),
    (re.compile(r"[\w.+-]+@[\w-]+\.\w+"), "email person contact"),
    (re.compile(r"[$€£¥]\s?\d|\b(?:USD|EUR|GBP|CNY|JPY)\b"), "amount money payment"),
    (re.compile(r"\b[\w-]+\.(?:csv|xlsx?|docx?|pdf|txt|md|py|js|json|yaml)\b", re.IGNORECASE), "file"),
)
_LONGEST_QUERY: Final = 10_000


class SearchError(RuntimeError):
    """This Python's SQLite cannot search."""


class Found(NamedTuple):
    """What a search found: the best definitions, the best first, and what they take beside all of them, in tokens."""

    definitions: list[ToolDefinition]
    scores: list[float]
    tokens: int
    tokens_of_all: int

    @property
    def saved(self) -> int:
        """The tokens of all definitions that were left out."""
        return self.tokens_of_all - self.tokens

    @property
    def raw(self) -> list[Any]:
        """The definitions as the host handed them over, for `tools` of a request."""
        return [definition.raw for definition in self.definitions]


class ToolIndex:
    """An index of tool definitions in memory. Made once, searched often, from any thread.

    Example:
        >>> index = ToolIndex(definitions_of([
        ...     {"name": "get_weather", "description": "Forecast for a place.", "input_schema": {}},
        ...     {"name": "send_email", "description": "Write to somebody.", "input_schema": {}},
        ... ]))
        >>> [tool["name"] for tool in index.search("mail Anna that it rains", limit=1).raw]
        ['send_email']
    """

    def __init__(self, definitions: Iterable[ToolDefinition]) -> None:
        self.definitions = list(definitions)
        self.tokens = sum(definition.tokens for definition in self.definitions)
        self._lock = threading.Lock()
        self._known: dict[str, dict[int, float]] = {}
        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        columns = ", ".join(_WEIGHTS)
        try:
            self._database.execute(
                f"CREATE VIRTUAL TABLE tools USING fts5({columns}, tokenize='porter unicode61 remove_diacritics 2')"
            )
        except sqlite3.OperationalError as error:
            raise SearchError(f"tool search needs SQLite with FTS5, and this Python's has none: {error}") from None
        rows = [(at, *_columns(definition)) for at, definition in enumerate(self.definitions)]
        self._database.executemany(f"INSERT INTO tools (rowid, {columns}) VALUES (?, ?, ?, ?, ?)", rows)

    @classmethod
    def of(cls, tools: Iterable[Any]) -> ToolIndex:
        """An index of the tools of a request or of an MCP answer, see `definitions_of`."""
        return cls(definitions_of(tools))

    def search(self, query: str, *, limit: int = 5, always: Sequence[str] = ()) -> Found:
        """Find the definitions that fit what is wanted.

        Words are compared by their stem, in names (split at `_` and capitals), descriptions, parameters and groups, and
        weighed by BM25; words that are related to those of the query count a part.

        Args:
            query: what the step is about, in any words.
            limit: how many definitions at most.
            always: names of tools that come first whatever the query says, and count towards the limit.

        Returns:
            The definitions. None fits where nothing in them has to do with the query.

        Raises:
            ValueError: `limit` is below 1.
        """
        if limit < 1:
            raise ValueError("a search finds at least one definition: `limit` is below 1")
        scores: dict[int, float] = {}
        covered: dict[int, float] = {}
        words = query_words(query[:_LONGEST_QUERY])
        weights = {word: _WEAK_COUNTS if word in WEAK else 1.0 for word in words}
        for word, weight in weights.items():
            for at, (score, share) in self._of_word(word).items():
                scores[at] = scores.get(at, 0.0) + weight * score
                covered[at] = covered.get(at, 0.0) + weight * share
        for at in scores:
            scores[at] *= (covered[at] / sum(weights.values())) ** _COVERAGE
        first = [at for at, definition in enumerate(self.definitions) if definition.name in set(always)]
        ranked = sorted(scores, key=lambda at: (-scores[at], at))
        chosen = [*first, *(at for at in ranked if at not in set(first))][:limit]
        tokens = sum(self.definitions[at].tokens for at in chosen)
        return Found(
            [self.definitions[at] for at in chosen], [scores.get(at, 0.0) for at in chosen], tokens, self.tokens
        )

    def _of_word(self, word: str) -> dict[int, tuple[float, float]]:
        """What a word of the query counts for each tool: itself, or the one related word that counts most."""
        scores: dict[int, tuple[float, float]] = {}
        for form in forms_of(word):
            for at, score in self._matching(form).items():
                scores[at] = max(scores.get(at, (0.0, 0.0)), (score, 1.0))
        loose: dict[int, list[float]] = {}
        for other in related(word):
            for at, score in self._matching(other).items():
                loose.setdefault(at, []).append(_RELATED * score)
        for at, found in loose.items():
            best = max(found)
            both = best + _FURTHER * (sum(found) - best)
            scores[at] = max(scores.get(at, (0.0, 0.0)), (both, _RELATED))
        return scores

    def _matching(self, word: str) -> dict[int, float]:
        """What a word by itself counts for each tool that has it. The words that come up again are few: kept."""
        with self._lock:
            found = self._known.get(word)
            if found is None:
                found = dict(self._database.execute(_QUERY, (f'"{word}"',)).fetchall())
                if len(self._known) < _MOST_KNOWN:
                    self._known[word] = found
        return found


def query_words(query: str) -> list[str]:
    """The words of a query, then those that its turns of phrase and its addresses, amounts and file names stand for.

    >>> query_words("call off the order 10.0.0.5")
    ['call', 'off', 'order', '10', 'cancel', 'network', 'address', 'host']
    """
    hinted = [word for pattern, words in _HINTS for word in (words.split() if pattern.search(query) else ())]
    return list(dict.fromkeys([*words_of(query), *meant(query.lower()), *hinted]))


def words_of(text: str) -> list[str]:
    """The words of a text that say something, each once, lower case.

    >>> words_of("Is the buildOrder of my order_id there?")
    ['build', 'order', 'id']
    """
    words = _WORD.findall(_spread(text).lower())
    # one letter is the end of `Bob's`; one sign of Chinese is a word
    found = dict.fromkeys(word for word in words if word not in STOP and (len(word) > 1 or not word.isascii()))
    return list(found)


def _columns(definition: ToolDefinition) -> tuple[str, str, str, str]:
    return (
        _spread(definition.name),
        _spread(definition.description),
        _spread(" ".join(_parameter_words(definition.parameters))),
        _spread(" ".join(definition.groups)),
    )


def _parameter_words(schema: Mapping[str, Any]) -> list[str]:
    """Names and descriptions of a schema's properties, one level deep."""
    properties = schema.get("properties")
    words = []
    for name, inner in properties.items() if isinstance(properties, Mapping) else ():
        words.append(str(name))
        if isinstance(inner, Mapping) and isinstance(inner.get("description"), str):
            words.append(inner["description"])
    return words


def _spread(text: str) -> str:
    """A text with its compound words taken apart: `getOrder_id` is three words, signs of Chinese go in pairs."""
    text = _CAMEL.sub(" ", text.replace("_", " ").encode("utf-8", "replace").decode())
    return _SIGNS.sub(lambda found: " " + " ".join(_pairs(found.group())) + " ", text)


def _pairs(signs: str) -> list[str]:
    return [signs[at : at + 2] for at in range(len(signs) - 1)] or [signs]
