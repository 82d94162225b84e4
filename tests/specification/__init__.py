"""The parts of the slow obvious engine; `tests/reference.py` is its entry."""
