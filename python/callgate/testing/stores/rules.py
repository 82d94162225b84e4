"""Checks of what a store answers to one caller, one behaviour each."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from callgate.stores import SessionConflict, Store
from callgate.stores.entry import LateWord

from .messages import LEASE, START, answer, claim, late, same, settlement, state, taken

if TYPE_CHECKING:
    from . import OpenStore

_BREAKER: Final = {"name": "tool:pay", "failures": 1, "open_for": 30.0, "probes": 1}


def refused(act: Callable[[], object], kind: type[Exception]) -> bool:
    """Whether something raises what it should."""
    try:
        act()
    except kind:
        return True
    return False


def a_budget_is_taken_up_to_its_limit(open_store: OpenStore) -> None:
    """The last call that fits is let through, the next is told what is short."""
    store = open_store()
    same("the first two", [taken(store, claim(name, limit=2)) for name in "ab"], [True, True])
    third = answer(store, claim("c", limit=2))
    same("the third", (third["taken"], third["short"], third["counts"]), (False, ["tool_calls"], {"tool_calls": 2.0}))
    same("another task's", taken(store, claim("d", task="u", limit=2)), True)
    same("the counters", store.counters("t"), {"tool_calls": 2.0})


def a_claim_is_taken_whole_or_not_at_all(open_store: OpenStore) -> None:
    """Where one part is missing, nothing of the rest is taken."""
    store = open_store()
    store.settle(settlement("n", deny=["d"]), START)
    whole = claim("a", limit=5, key="k", breaker=_BREAKER, denials=("d",))
    refused_claim = answer(store, whole)
    same("a denied claim", (refused_claim["taken"], refused_claim["denied"]), (False, "d"))
    same("counters and ledger", (store.counters("t"), store.entries(START)), ({}, []))


def a_message_counts_once_however_often_it_comes(open_store: OpenStore) -> None:
    """Commit, settle and release may be done again by whoever does not know whether they got through."""
    store = open_store()
    text = claim("a", limit=5, key="k")
    same("the second answer", answer(store, text), answer(store, text))
    ended = settlement("a", effect="completed", result=7, amounts=[{"counter": "tokens", "amount": 5}])
    same("settled", [store.settle(ended, START), store.settle(ended, START)], [True, False])
    same("released after that", store.release("a", "t", START), False)
    same("the counters", store.counters("t"), {"tokens": 5.0, "tool_calls": 1.0})


def a_claim_that_was_refused_stays_refused_under_its_id(open_store: OpenStore) -> None:
    """A message that comes again after room was made takes nothing that nobody would give back."""
    store = open_store()
    taken(store, claim("a", limit=1))
    first = answer(store, claim("b", limit=1))
    store.release("a", "t", START)
    again = answer(store, claim("b", limit=1))
    same("the same claim", (again["taken"], again["short"]), (first["taken"], first["short"]))
    same("a new one", taken(store, claim("c", limit=1)), True)


def what_is_released_is_there_again_once(open_store: OpenStore) -> None:
    """A call that never ran gives back budget, key and probe."""
    store = open_store()
    taken(store, claim("a", limit=1, key="k"))
    same("released", [store.release("a", "t", START), store.release("a", "t", START)], [True, False])
    same("counters and ledger", (store.counters("t"), store.entries(START)), ({"tool_calls": 0.0}, []))
    same("a claim that comes after its release", taken(store, claim("a", limit=1, key="k")), False)
    same("another one", taken(store, claim("b", limit=1, key="k")), True)


def what_a_dead_owner_held_is_spent_and_its_effect_unknown(open_store: OpenStore) -> None:
    """After the lease a call may have run: its budget is gone, and its effect is never new."""
    store = open_store()
    taken(store, claim("a", limit=5, key="k"))
    same("in its lease", state(store, claim("b", key="k"), START + LEASE - 1), "in_flight")
    late = answer(store, claim("c", key="k"), START + LEASE)["effect"]
    same("after it", late, {"state": "unknown", "since": START + LEASE, "key": "k", "verify": None, "checked": 0})
    same("the counters", store.counters("t"), {"tool_calls": 1.0})


def an_effect_is_completed_with_its_result(open_store: OpenStore) -> None:
    """Who asks for it again is given what it brought; other arguments under its key are a conflict."""
    store = open_store()
    same("the first", state(store, claim("a", key="k")), "new")
    same("beside it", state(store, claim("b", key="k")), "in_flight")
    store.settle(settlement("a", effect="completed", result={"order": 7}), START + 1)
    found = answer(store, claim("c", key="k"), START + 2)["effect"]
    same("afterwards", (found["at"], json.loads(found["result"])), (START + 1, {"order": 7}))
    same("other arguments", state(store, claim("d", key="k", call="other"), START + 2), "conflict")
    same("after a crash it is still there", state(open_store(), claim("e", key="k"), START + 2), "completed")


def a_completed_effect_is_forgotten_in_time_and_a_doubt_never(open_store: OpenStore) -> None:
    """`retain` runs from completion on; an effect of which nobody knows waits for somebody who does."""
    store = open_store()
    for key in ("done", "lost"):
        taken(store, claim(key, key=key, target=key, retain=60))
    store.settle(settlement("done", effect="completed"), START)
    store.settle(settlement("lost", effect="unknown"), START)
    for later, expected in ((59, "completed"), (60, "new")):
        same(f"after {later} s", state(store, claim(f"a{later}", key="done", target="done"), START + later), expected)
    same("the doubt", state(store, claim("b", key="lost", target="lost"), START + 1e9), "unknown")


def a_doubt_is_ended_by_who_finds_out(open_store: OpenStore) -> None:
    """Absent frees the key, landed completes it; what is in flight or known cannot be resolved."""
    store = open_store()
    for key in ("x", "y"):
        taken(store, claim(key, key=key, target=key))
    found = {"by": "anna", "result": None}
    same("in flight", store.resolve(json.dumps({"key": "x", "landed": False, **found}), START), False)
    later = START + LEASE
    for key, landed in (("x", False), ("y", True)):
        text = json.dumps({"key": key, "landed": landed, **found})
        same("resolved", [store.resolve(text, later), store.resolve(text, later)], [True, False])
    same("absent", state(store, claim("a", key="x", target="x"), later), "new")
    same("landed", state(store, claim("b", key="y", target="y"), later), "completed")
    [known] = store.entries(later, key="y")
    same("who said so", (known.state, known.by, known.ended), ("completed", "anna", later))


def a_doubt_is_ended_by_what_its_call_brings_late(open_store: OpenStore) -> None:
    """A call that was given up and goes on: it is believed, once, and is only noted where others know better."""
    store = open_store()
    claims = {key: claim(key, key=key, target=key) for key in ("went", "failed", "said")}
    for key, text in claims.items():
        taken(store, text)
        store.settle(settlement(key, effect="unknown"), START + 1)
    store.resolve(json.dumps({"key": "said", "landed": True, "by": "anna", "result": None}), START + 2)
    went = late("1", claims["went"], "completed", result=7)
    same("new, then known", [store.settle(went, START + 3), store.settle(went, START + 3)], [True, False])
    store.settle(late("2", claims["failed"], "free"), START + 3)
    store.settle(late("3", claims["said"], "free"), START + 4)
    known = answer(store, claim("a", key="went", target="went"), START + 5)["effect"]
    same("went through", known, {"state": "completed", "at": START + 3, "result": "7"})
    same("did not happen", state(store, claim("b", key="failed", target="failed"), START + 5), "new")
    [entry] = store.entries(START + 5, key="said")
    same("stands", (entry.state, entry.by, entry.ended), ("completed", "anna", START + 2))
    same("and is noted", entry.late, LateWord(START + 4, landed=False))


def a_breaker_lets_one_probe_through(open_store: OpenStore) -> None:
    """It opens by failures, and after its time is closed by the success of its only probe."""
    store = open_store()
    taken(store, claim("a", breaker=_BREAKER))
    store.settle(settlement("a", breakers=[["tool:pay", "failure"]]), START)
    shut = answer(store, claim("b", breaker=_BREAKER), START + 10)["open"]
    same("open", shut, [{"name": "tool:pay", "retry_after": 20.0, "probing": False}])
    probes = [taken(store, claim(f"p{n}", breaker=_BREAKER), START + 30) for n in range(3)]
    same("the probes", probes, [True, False, False])
    store.settle(settlement("p0", breakers=[["tool:pay", "success"]]), START + 31)
    same("closed", [taken(store, claim(f"q{n}", breaker=_BREAKER), START + 31) for n in range(3)], [True] * 3)


def a_denial_is_kept_until_it_is_lifted(open_store: OpenStore) -> None:
    """It speaks against the calls of its task alone."""
    store = open_store()
    store.settle(settlement("1", deny=["d"]), START)
    asked = [answer(store, claim(name, task=name, denials=("e", "d")))["denied"] for name in ("t", "u")]
    same("denied", asked, ["d", None])
    store.settle(settlement("2", lift=["d"]), START)
    same("lifted", answer(store, claim("c", denials=("e", "d")))["denied"], None)


def entries_are_listed_by_task_state_and_key(open_store: OpenStore) -> None:
    """Those begun last first; one whose owner is dead is listed as unknown."""
    store = open_store()
    for n, (task, key) in enumerate([("t", "aa1"), ("u", "aa2"), ("t", "ab3")]):
        taken(store, claim(key, task=task, key=key, target=key, lease=10.0 + n, retain=50), START + n)
    store.settle(settlement("aa2", task="u", effect="completed"), START + 3)

    def keys(now: float = START + 4, **wanted: Any) -> list[str]:
        return [entry.key for entry in store.entries(now, **wanted)]

    same("all", keys(), ["ab3", "aa2", "aa1"])
    same("some", keys(limit=2), ["ab3", "aa2"])
    same("of a task", keys(task="t"), ["ab3", "aa1"])
    same("by key", keys(key="aa"), ["aa2", "aa1"])
    same("in flight", keys(state="in_flight"), ["ab3", "aa1"])
    same("whose owner is dead", keys(START + 10, state="unknown"), ["aa1"])
    same("in flight then", keys(START + 10, state="in_flight"), ["ab3"])
    same("completed", (keys(state="completed"), keys(START + 53, state="completed")), (["aa2"], []))


def a_session_is_saved_by_who_saw_its_last_version(open_store: OpenStore) -> None:
    """A second process that goes on with what it read earlier is told so, and has changed nothing."""
    store = open_store()
    same("nothing yet", store.get_session("s"), None)
    same("saved", [store.put_session("s", "one", expected=0), store.put_session("s", "two", expected=1)], [1, 2])
    same("saved again", store.put_session("s", "two", expected=1), 2)
    for expected in (0, 1, 3):
        conflict = refused(partial(store.put_session, "s", "mine", expected=expected), SessionConflict)
        same(f"saved on top of version {expected}", conflict, True)
    found = open_store().get_session("s")
    same("what is there", found and (found.version, found.text), (2, "two"))


def escalations_are_in_the_same_store(open_store: OpenStore) -> None:
    """Pushed once, claimed by one, resolved once."""
    queue = open_store().escalations
    for _ in range(2):
        queue.push("e", {"status": "incomplete"}, task="t", queue="desk")
    same("listed", [(each.id, each.state) for each in queue.list(queue="desk")], [("e", "open")])
    same("claimed", getattr(queue.claim("anna"), "id", None), "e")
    same("nothing is open", queue.claim("otto"), None)
    same("resolved", queue.resolve("e", "anna", "done").resolution, "done")


def what_is_no_message_changes_nothing(open_store: OpenStore) -> None:
    """A claim that cannot be read, and a time that is none, are refused as such."""
    store = open_store()
    good = claim("a", limit=1, key="k")
    acts: list[Callable[[Store], object]] = [
        lambda it: it.commit("{", START),
        lambda it: it.commit('{"id": "a", "amount": 3}', START),
        lambda it: it.commit("{}", START),
        lambda it: it.commit(good, float("nan")),
        lambda it: it.settle("[]", START),
        lambda it: it.settle(settlement("a"), float("inf")),
        lambda it: it.resolve('{"key": 3}', START),
        lambda it: it.release("a", "t", float("nan")),
        lambda it: it.release("", "t", START),
    ]
    same("refused", [refused(partial(act, store), ValueError) for act in acts], [True] * len(acts))
    same("the claim", taken(store, good), True)


def texts_of_any_kind_are_names(open_store: OpenStore) -> None:
    """Quotes, braces, line ends and signs beyond ASCII in ids, keys, tasks and counters are kept as they are."""
    store = open_store()
    odd = 'a "b" {c}\n\u2028 é 漢 \U0001f600 \\ %'
    same("taken", taken(store, claim(odd, task=odd, key=odd, limit=1, denials=(odd,))), True)
    store.settle(settlement("n", task=odd, deny=[odd], amounts=[{"counter": odd, "amount": 2}]), START)
    again = answer(store, claim("b", task=odd, key=odd, denials=(odd,)))
    same("seen", (again["effect"]["state"], again["denied"]), ("in_flight", odd))
    same("counted", again["counts"], {odd: 2.0, "tool_calls": 1.0})
    same("listed", [entry.key for entry in store.entries(START, key=odd[:9])], [odd])


RULES: Final = (
    a_budget_is_taken_up_to_its_limit,
    a_claim_is_taken_whole_or_not_at_all,
    a_message_counts_once_however_often_it_comes,
    a_claim_that_was_refused_stays_refused_under_its_id,
    what_is_released_is_there_again_once,
    what_a_dead_owner_held_is_spent_and_its_effect_unknown,
    an_effect_is_completed_with_its_result,
    a_completed_effect_is_forgotten_in_time_and_a_doubt_never,
    a_doubt_is_ended_by_who_finds_out,
    a_doubt_is_ended_by_what_its_call_brings_late,
    a_breaker_lets_one_probe_through,
    a_denial_is_kept_until_it_is_lifted,
    entries_are_listed_by_task_state_and_key,
    a_session_is_saved_by_who_saw_its_last_version,
    escalations_are_in_the_same_store,
    what_is_no_message_changes_nothing,
    texts_of_any_kind_are_names,
)
