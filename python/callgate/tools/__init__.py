"""Many tools: finding the few definitions that a step needs, and those that nobody uses any more."""

from .definitions import DefinitionError, ToolDefinition, definitions_of, read_definitions
from .search import Found, SearchError, ToolIndex

__all__ = [
    "DefinitionError",
    "Found",
    "SearchError",
    "ToolDefinition",
    "ToolIndex",
    "definitions_of",
    "read_definitions",
]
