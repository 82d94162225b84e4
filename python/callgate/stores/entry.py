"""An entry of the ledger, as people and hosts read it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final, Literal

# what an entry's text leaves out
_UNSAID: Final = {
    **dict.fromkeys(("target", "verify", "ended", "retain_until", "result", "by", "late")),
    "checked": 0,
}


@dataclass(frozen=True, slots=True)
class LateWord:
    """What the call of an effect told after all, against what the ledger had from others by then.

    `at` is when, in seconds since 1970; `landed` whether it says that it happened.
    """

    at: float
    landed: bool


EntryState = Literal["in_flight", "completed", "unknown"]


@dataclass(frozen=True, slots=True)
class Entry:
    """What the ledger knows of an effect. Times are seconds since 1970.

    `key` is the hex SHA-256 of its idempotency key, or the claim's id where it may happen again (`once` is False).
    `owner` is the claim that began it last, until `lease_until`; `ended` is when it was completed, or came into doubt.
    `verify` is the call that would end a doubt, `checked` how often it was asked in vain, `by` who ended it. `late` is
    what its call told after that, if it was something else.
    """

    key: str
    task: str
    tool: str
    state: EntryState
    owner: str
    began: float
    lease_until: float
    ended: float | None
    once: bool
    declared: bool
    target: str | None
    retain_until: float | None
    result: Any
    verify: Any
    checked: int
    by: str | None
    late: LateWord | None

    @classmethod
    def read(cls, text: str, now: float) -> Entry:
        """Read an entry's JSON; one in flight whose lease is over at `now` is unknown.

        Raises:
            ValueError: it is no entry.
        """
        data: Any = json.loads(text)
        try:
            data = {**_UNSAID, **data}
            state, ended = data["state"], data["ended"]
            if state == "in_flight" and data["lease_until"] <= now:
                state, ended = "unknown", data["lease_until"]
            decoded = {name: _decoded(data[name]) for name in ("result", "verify")}
            decoded["late"] = None if data["late"] is None else LateWord(**data["late"])
            rest = {name: data[name] for name in cls.__slots__ if name not in ("state", "ended", *decoded)}
        except (KeyError, TypeError) as error:
            raise ValueError(f"this is no entry of a ledger: {error}") from None
        return cls(state=state, ended=ended, **decoded, **rest)


def _decoded(text: str | None) -> Any:
    if text is None:
        return None
    try:
        return json.loads(text)
    except ValueError:
        return text
