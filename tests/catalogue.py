"""The catalogue of two hundred tools and the questions about it, read from `tests/data`."""

from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"


def rows(name: str) -> list[list[str]]:
    """The cells of a table of the test data."""
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.split("|")] for line in lines if line and not line.startswith("#")]


def catalogue() -> list[dict[str, Any]]:
    """The definitions, as an MCP server lists them."""
    return [definition(*row) for row in rows("catalogue.txt")]


def definition(name: str, groups: str, description: str, parameters: str) -> dict[str, Any]:
    """A line of the catalogue as a definition."""
    written = [parameter.strip().split(":") for parameter in parameters.split(",")]
    schema = {
        "type": "object",
        "properties": {parameter: {"type": kind.rstrip("*")} for parameter, kind in written},
        "required": [parameter for parameter, kind in written if kind.endswith("*")],
    }
    return {"name": name, "description": description, "tags": groups.split(), "input_schema": schema}


def questions(name: str = "questions.txt") -> list[tuple[str, str]]:
    """Questions, each with the tool that it takes."""
    return [(question, tool) for question, tool in rows(name)]
