"""Memory and file answer alike: random runs through both, message by message."""

import json
import random
from pathlib import Path
from typing import Any

from callgate.stores import MemoryStore, SqliteStore, Store
from callgate.testing.stores.messages import claim, late, settlement

BREAKER = {"name": "tool:pay", "failures": 2, "open_for": 20.0, "probes": 1}


def message(chance: random.Random, number: int, now: float) -> Any:
    """One operation on a store, as a function of it."""
    ids = [f"c{max(0, number - back)}" for back in range(12)]
    claim_id, task, key = chance.choice(ids), chance.choice("tu"), f"k{chance.randrange(6)}"
    kind = chance.randrange(10)
    if kind < 5:
        text = claim(
            f"c{number}",
            task=task,
            limit=25.0,
            amount=chance.choice([0.5, 1.0, 2.0]),
            key=key if chance.random() < 0.8 else None,
            call=chance.choice(["same", "same", "same", "other"]),
            target=chance.choice([None, "x", "y"]),
            again=chance.random() < 0.3,
            retain=chance.choice([None, 30.0]),
            breaker=BREAKER if chance.random() < 0.5 else None,
            denials=("d", "e") if chance.random() < 0.5 else (),
            lease=chance.choice([5.0, 15.0]),
        )
        return lambda store: json.loads(store.commit(text, now))
    if kind < 8:
        said = chance.choice(["success", "failure", "failure", "neither"])
        keys: dict[str, Any] = {
            "breakers": [["tool:pay", said]],
            "amounts": [{"counter": "tokens", "amount": chance.randrange(3)}],
            "deny": chance.sample(["d", "e"], chance.choice([0, 0, 1])),
            "lift": chance.sample(["d", "e"], chance.choice([0, 1])),
            "resolve": [{"key": key, "landed": None, "by": "v"}] if chance.random() < 0.2 else [],
        }
        effect = chance.choice([None, "completed", "completed", "free", "unknown"])
        ended = settlement(claim_id, task=task, effect=effect, result=number, **keys)
        return lambda store: store.settle(ended, now)
    if kind == 8 and chance.random() < 0.5:
        claimed = claim(claim_id, task=task, key=key, call="same", again=chance.random() < 0.3, retain=30.0)
        brought = late(f"late {number}", claimed, chance.choice(["completed", "free", "unknown"]), result=number)
        return lambda store: store.settle(brought, now)
    if kind == 8:
        return lambda store: store.release(claim_id, task, now)
    found = json.dumps({"key": key, "landed": chance.choice([True, False, None]), "by": "anna", "result": None})
    return lambda store: store.resolve(found, now)


def seen(store: Store, now: float) -> Any:
    return store.entries(now, limit=1000), store.counters("t"), store.counters("u")


def test_every_message_gets_the_same_answer_from_both(tmp_path: Path) -> None:
    answers = set()
    for seed in range(6):
        chance = random.Random(seed)
        memory, file = MemoryStore(), SqliteStore(tmp_path / f"{seed}.db")
        now = 1_000.0
        for number in range(150):
            now += chance.choice([0.0, 1.0, 4.0, 4.0, -3.0, 25.0])
            act = message(chance, number, now)
            first, second = act(memory), act(file)
            assert first == second, f"run {seed}, message {number}"
            assert seen(memory, now) == seen(file, now), f"run {seed}, message {number}"
            answers.add(first["effect"]["state"] if isinstance(first, dict) and first["effect"] else str(first)[:5])
    assert {"new", "in_flight", "unknown", "completed", "conflict", "True", "False"} <= answers
