"""An estimate of how many tokens something takes in a prompt, for hosts that have no tokenizer at hand."""

from __future__ import annotations

import json
from typing import Any, Final

BYTES_PER_TOKEN: Final = 4
"""UTF-8 bytes that count as one token. English prose and JSON have about four; Chinese, with three bytes a sign, comes
out at three tokens for four signs. Real tokenizers differ by a third in both directions."""


def estimate_tokens(value: Any) -> int:
    """About how many tokens a text, or the JSON of anything else, takes.

    Args:
        value: a text, or data that JSON has a form for; what it has none for counts by its `str`.

    Returns:
        The UTF-8 bytes divided by four, rounded up. The same value gives the same number everywhere.

    Example:
        >>> estimate_tokens("twelve bytes")
        3
        >>> estimate_tokens({"type": "text"})
        4
    """
    text = (
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    )
    return -(-len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN)
