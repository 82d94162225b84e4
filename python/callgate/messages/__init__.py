"""Message lists of OpenAI and Anthropic: what is wrong with them, how to mend them, how to make them shorter."""

from .compact import Compacted, CompactionError, Fuse, FuseOpen, compact, compact_async
from .finding import KINDS, Finding, passes
from .inspect import inspect
from .parts import MessageError
from .repair import repair
from .results import LOST

__all__ = [
    "KINDS",
    "LOST",
    "Compacted",
    "CompactionError",
    "Finding",
    "Fuse",
    "FuseOpen",
    "MessageError",
    "compact",
    "compact_async",
    "inspect",
    "passes",
    "repair",
]
