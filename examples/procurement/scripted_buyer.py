"""A scripted model that behaves as the one in the story: a new keyword each time, never content, never a price.

It reads what it is given as a model would: results, notes, and replies instead of results. Left alone it would search
for ever. It turns to another tool only when a reply names one.
"""

import json
from typing import Any, NamedTuple

import supplier_database


class Call(NamedTuple):
    """A tool call of the model."""

    tool: str
    arguments: dict[str, Any]


class ScriptedBuyer:
    """The model. `next_call` says what it wants to do now, `read` gives it the answer."""

    def __init__(self) -> None:
        self._searches = 0
        self._suppliers: list[str] = []
        self._quoted: set[str] = set()
        self._substitute: str | None = None

    def next_call(self) -> Call:
        """What it wants to call now."""
        if self._substitute is not None:
            for supplier in self._suppliers[:3]:
                if supplier not in self._quoted:
                    self._quoted.add(supplier)
                    return Call(self._substitute, {"supplier": supplier})
        self._searches += 1
        words = supplier_database.WORDS
        # when its words are used up it makes more of them
        word = words[self._searches - 1] if self._searches <= len(words) else f"bearing no. {self._searches}"
        return Call("supplier_search", {"keyword": word})

    def read(self, text: str) -> None:
        """Read a result, or what stands in its place."""
        said = json.loads(text)
        for record in said.get("items", []):
            if record["supplier"] not in self._suppliers:
                self._suppliers.append(record["supplier"])
        instead = (said.get("data") or {}).get("instead") or []
        if instead:
            self._substitute = instead[0]["tool"]
