"""The suppliers of a bearing, in SQLite: who sells it under which words, and who quotes what."""

import sqlite3
from pathlib import Path

# Each search word finds the suppliers of the ones before it, and one more.
WORDS = ["bearing", "rolling bearing", "bearing SKF", "bearing 6204", "deep groove bearing", "steel bearing"]
SUPPLIERS = ["ACME", "Brenner", "Corvin", "Dorn", "Egger", "Falk", "Gruber"]
QUOTES = [
    ("ACME", "6204", 3.10, 4, "2027-01-31"),
    ("Brenner", "6204", 2.90, 12, "2027-01-31"),
    ("Corvin", "6204", 3.40, 2, "2027-02-28"),
]


def make(path: Path, *, quotes: bool = True, models: bool = True) -> Path:
    """Write the database.

    Args:
        path: the file; it must not be there.
        quotes: whether anybody quotes a price.
        models: whether suppliers say which model they sell.
    """
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE suppliers (supplier TEXT, model TEXT, word TEXT)")
    database.execute("CREATE TABLE quotes (supplier TEXT, model TEXT, unit_price REAL, lead_time INTEGER, until TEXT)")
    known = [(name, "6204" if models else None, word) for at, word in enumerate(WORDS) for name in SUPPLIERS[: at + 2]]
    database.executemany("INSERT INTO suppliers VALUES (?, ?, ?)", known)
    database.executemany("INSERT INTO quotes VALUES (?, ?, ?, ?, ?)", QUOTES if quotes else [])
    database.commit()
    database.close()
    return path


def suppliers(database: sqlite3.Connection, keyword: str, limit: int = 10) -> list[dict[str, object]]:
    """Suppliers of a part, by keyword; they know no prices."""
    rows = database.execute(
        "SELECT DISTINCT supplier, model FROM suppliers WHERE word = ? ORDER BY supplier LIMIT ?", (keyword, limit)
    )
    return [{"supplier": supplier, "model": model} for supplier, model in rows]


def quotes(database: sqlite3.Connection, supplier: str) -> list[dict[str, object]]:
    """What one supplier quotes."""
    rows = database.execute("SELECT * FROM quotes WHERE supplier = ?", (supplier,))
    names = ("supplier", "model", "unit_price", "lead_time", "valid_until")
    return [dict(zip(names, row, strict=True)) for row in rows]
