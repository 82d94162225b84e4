"""What the name of a tool, and the names of its arguments, let one guess of it."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final, NamedTuple

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


READS: Final = _set(
    """analyze browse calculate cat check compare compute count describe detect diff download explain extract fetch
    filter find get grep head inspect list lookup ls peek ping poll preview query read resolve retrieve scan search
    select show sleep stat status summarize tail test track validate verify view wait"""
)
EDITS: Final = _set("append edit insert overwrite patch replace save write mkdir touch")
# Changes that stay inside the task's workspace where they act on a path, and leave it elsewhere.
CHANGES: Final = _set(
    """activate add apply archive assign attach change close copy create deactivate delete disable drop enable modify
    move put remove rename reset restore set start stop unassign update upload upsert"""
)
SENDS: Final = _set(
    """approve authorize book buy cancel charge comment confirm deploy email exchange invite merge notify order pay
    place post publish purchase push refund register reject reply reserve return sell send share submit subscribe
    transfer unsubscribe withdraw"""
)
ANYTHING: Final = _set("bash command eval exec execute invoke python run shell sh sql terminal")
SCREEN: Final = _set("click drag fill hover navigate press screenshot scroll tap type")
CONTROL: Final = _set("delegate escalate finish handoff plan reflect think")
# Doing any of these twice comes to the same as doing it once.
TWICE_AS_ONCE: Final = _set(
    """activate approve archive assign cancel close deactivate delete disable drop enable put remove set stop subscribe
    unassign unsubscribe update upsert"""
)
# Words that are the thing as often as the deed: in `order_lookup` the other word says what is done.
_ALSO_NOUNS: Final = _set(
    """book charge check comment command copy count diff email exchange filter head list order patch place plan
    query reply return share show start status test touch transfer type view"""
)
_BEHIND: Final = _set("by for from of with")
_JOBS: Final = _set("build deployment execution job operation pipeline process run task workflow")
_STATES: Final = _set("progress state status")
_TO_WHOM: Final = _set("agent agents assistant human to")

PATHS: Final = _set("path paths file filepath filename directory dir folder cwd")
VOLATILE: Final = _set(
    """request_id client_request_id trace_id span_id correlation_id nonce timestamp request_time idempotency_key
    client_token thought thoughts reasoning rationale explanation"""
)
SEARCHED: Final = _set("keyword keywords phrase q query search term terms words")
_IDENTIFYING: Final = _set("id uuid uri url key ref path file filename filepath")
_UNORDERED: Final = _set("ids tags labels")


class Suggested(NamedTuple):
    """What a name suggests: an effect, whether twice is as good as once, and the word that says so."""

    effect: str
    idempotent: bool
    word: str | None


def words_of(name: str) -> list[str]:
    """The words of a name, however it is written.

    >>> words_of("mcp__shop__getOrderStatus"), words_of("create-order")
    (['mcp', 'shop', 'get', 'order', 'status'], ['create', 'order'])
    """
    return [word.lower() for word in _WORD.findall(name)]


def effect_of(name: str, arguments: list[str]) -> Suggested:
    """What a tool of this name and these arguments changes, most likely; `unknown` where the name does not say.

    >>> effect_of("order_lookup", ["order_id"])
    Suggested(effect='read', idempotent=True, word='lookup')
    >>> effect_of("create_file", ["path"]).effect, effect_of("create_order", ["sku"]).effect
    ('write', 'external')
    >>> effect_of("bearing", []).effect
    'unknown'
    """
    words = words_of(name)
    # `tracking_for_parcels`: behind such a word stands what it is done to
    words = next((words[:at] for at, word in enumerate(words) if at and word in _BEHIND), words)
    if is_transfer(name):
        return Suggested("control", False, "transfer" if "transfer" in words else "handoff")
    known = [word for word in words if _effect(word, arguments) is not None]
    clear = [word for word in known if word not in _ALSO_NOUNS]
    if not known:
        return Suggested("unknown", False, None)
    if {"and", "or"} & set(words):  # `search_and_replace`: what it may do at most
        ranks = ["read", "control", "ui", "write", "external", "unknown"]
        word = max(known, key=lambda each: ranks.index(_effect(each, arguments) or "read"))
    elif known[0] not in _ALSO_NOUNS:
        word = known[0]
    else:  # the first may be the thing: a later one that is certainly the deed, or an `order_status`
        word = clear[0] if clear else words[-1] if words[-1] in READS else known[0]
    effect = _effect(word, arguments) or "unknown"
    if effect == "read" and {"sql", "statement"} & {argument.lower() for argument in arguments}:
        return Suggested("unknown", False, "sql")
    return Suggested(effect, effect == "read" or word in TWICE_AS_ONCE, word)


def _effect(word: str, arguments: list[str]) -> str | None:
    if word in ANYTHING:
        return "unknown"
    if word in CONTROL:
        return "control"
    if word in SCREEN:
        return "ui"
    if word in READS:
        return "read"
    if word in EDITS:
        return "write"
    if word in CHANGES:
        return "write" if any(map(is_path, arguments)) else "external"
    return "external" if word in SENDS else None


def is_transfer(name: str) -> bool:
    """Whether a tool passes control to somebody else: `handoff_to_sales`, `transfer_to_human_agents`."""
    words = words_of(name)
    if "handoff" in words:
        return True
    return any(word == "transfer" and after in _TO_WHOM for word, after in pairwise(words))


def is_poll(name: str) -> bool:
    """Whether a tool is asked again until something is done: `wait_for_build`, `get_job_status`.

    >>> is_poll("get_job_status"), is_poll("git_status")
    (True, False)
    """
    words = set(words_of(name))
    return bool(words & {"wait", "poll"}) or bool(words & _JOBS and words & _STATES)


def is_path(argument: str) -> bool:
    """Whether an argument holds a path, by its name."""
    return words_of(argument)[-1:] != [] and words_of(argument)[-1] in PATHS


def is_volatile(argument: str) -> bool:
    """Whether an argument is new in each call and says nothing, by its name."""
    return "_".join(words_of(argument)) in VOLATILE


def is_identifying(argument: str) -> bool:
    """Whether an argument names what is acted upon, by its name: `order_id`, `url`, `path`."""
    return not is_volatile(argument) and words_of(argument)[-1:] != [] and words_of(argument)[-1] in _IDENTIFYING


def is_searched(argument: str) -> bool:
    """Whether an argument holds the words of a search, by its name."""
    return argument.lower() in SEARCHED


def is_unordered(argument: str) -> bool:
    """Whether the order of a list means nothing, by the argument's name: `ids`, `tags`."""
    return words_of(argument)[-1:] != [] and words_of(argument)[-1] in _UNORDERED
