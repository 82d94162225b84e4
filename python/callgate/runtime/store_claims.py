"""A task whose budgets, effects, breakers and denials are in a store: what it commits before a call and tells after."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from callgate._core import SnapshotError, TaskClaims, TaskState

if TYPE_CHECKING:
    from callgate._core import Assessment, Note, Verdict
    from callgate.stores.session import Session


class ClaimStore(Protocol):
    """What a task needs of a store; `callgate.stores.Store` has it. Texts are JSON, times seconds since 1970."""

    def commit(self, claim: str, now: float) -> str:
        """Take all that a claim names, or nothing; the grant."""

    def settle(self, settlement: str, now: float) -> bool:
        """Take in how something ended; False if it was known already."""

    def release(self, claim_id: str, task: str, now: float) -> bool:
        """Give back what a claim of a call holds that never ran."""


@runtime_checkable
class SessionStore(Protocol):
    """A store that remembers sessions by version too."""

    def get_session(self, session_id: str) -> Session | None:
        """The session as it was put last."""

    def put_session(self, session_id: str, text: str, *, expected: int) -> int:
        """Put it, unless somebody else has since version `expected`; the new version."""


def resume_once(store: ClaimStore, state: TaskState) -> None:
    """Note in a store that remembers sessions that a task goes on in this generation.

    Raises:
        SnapshotError: it went on in this one, or in a later one, before, in whatever process.
        StoreError: the store cannot be used.
    """
    if not isinstance(store, SessionStore):
        return
    from callgate.stores.errors import SessionConflict

    session_id, generation = f"generation of {state.lineage}", state.generation
    there = store.get_session(session_id)
    try:
        if there is None or int(there.text.split()[0]) < generation:
            # a text of its own: saving an equal one would be no conflict
            mine = f"{generation} {os.urandom(16).hex()}"
            store.put_session(session_id, mine, expected=0 if there is None else there.version)
            return
    except SessionConflict:
        pass  # another process was faster
    raise SnapshotError(f"generation {generation} of task `{state.id}` was resumed already")


class StoreClaims:
    """One task's way to its store. Thread-safe: what is asked and what is decided of it are one step.

    What could not be told to the store is kept, and told before anything else is asked of it. Every operation counts
    once under its id, so telling it twice does no harm.
    """

    def __init__(self, state: TaskState, store: ClaimStore) -> None:
        self._state = state
        self._claims = TaskClaims(state)
        self._store = store
        self.alone = threading.Lock()
        """Held while nothing else may be asked of the task: between what is claimed and what is decided."""
        self._untold: deque[Callable[[float], object]] = deque()

    def admit(
        self, agent: str, calls: list[tuple[str, Any, str | None, Any]], now: float, again: bool
    ) -> list[Verdict]:
        """Judge a batch on what the store grants it."""
        with self.alone:
            return self._decided(self._claims.prepare(agent, calls, now, again=again))

    def approve(self, call_id: str, now: float, by: str | None, grants: str) -> Verdict:
        """Judge a call anew that a person said yes to."""
        with self.alone:
            return self._decided(self._claims.prepare_approval(call_id, now, by=by, grants=grants))[0]

    def observe(self, call_id: str, now: float, **outcome: Any) -> Assessment:
        """Take an outcome, and tell the store."""
        with self.alone:
            assessment, settlement = self._claims.observe(call_id, now, **outcome)
            self._settle(settlement)
            return assessment

    def follow(self, call_id: str, name: str) -> None:
        """Keep what has to be known once a call brings something after it was given up."""
        with self.alone:
            self._state.follow(call_id, name)

    def came_late(self, name: str, now: float, **outcome: Any) -> None:
        """Take what a call brought after it was given up, and tell the store when it came."""
        with self.alone:
            self._settle(self._claims.came_late(name, now, **outcome), at=self._claims.claim_time)

    def abandon(self, call_id: str, now: float) -> None:
        """Give back what a call held that never ran."""
        with self.alone:
            claim = self._claims.abandon(call_id, now)
            if claim is not None:
                self._release(*claim)
            self._tell()

    def deny(self, call_id: str, now: float, by: str | None, scope: str, why: str | None) -> list[Note]:
        """Put a denial on record, here and in the store."""
        with self.alone:
            notes, settlement = self._claims.deny(call_id, now, by=by, scope=scope, why=why)
            self._settle(settlement)
            return notes

    def usage(self, tokens: float, cost: float) -> None:
        """Add what the model used."""
        with self.alone:
            self._settle(self._claims.usage(tokens, cost))

    def find_out(self, key: str, landed: bool, by: str) -> None:
        """Say what became of an effect in doubt."""
        with self.alone:
            self._settle(self._claims.find_out(key, landed, by))

    def revive(self) -> None:
        """Tell the store of the calls that were out when the snapshot was taken that the task goes on from."""
        with self.alone:
            for settlement in self._claims.lost():
                self._settle(settlement)

    def _decided(self, claims: list[str]) -> list[Verdict]:
        unsure: list[str] = []
        sent: list[str] = []
        while True:
            sent += claims
            try:
                answers = self._answers(claims, unsure)
            except BaseException:  # an interruption, or a defect of the store: nothing runs, and nothing stays taken
                self._take_back(sent, len(claims))
                raise
            # what some hold that will not run is given back before the others ask anew
            releases, claims = self._claims.answered(answers)
            if not releases:
                break
            for claim_id, task in releases:
                self._release(claim_id, task)
        verdicts, (releases, forced, settlements) = self._claims.admit_prepared()
        for claim_id, task in releases:
            self._release(claim_id, task)
        # the store may have taken what it did not answer; where the call runs all the same it is rightly held
        if not any(verdict.allowed and "store_failure" in verdict.reasons for verdict in verdicts):
            for claim in map(json.loads, unsure):
                self._release(claim["id"], claim["task"])
        for claim in forced:
            self._untold.append(lambda now, claim=claim: self._store.commit(claim, now))  # type: ignore[misc]
        for settlement in settlements:
            self._settle(settlement)
        if not unsure:  # else it would fail again, after as long a wait
            self._tell()
        return verdicts

    def _answers(self, claims: list[str], unsure: list[str]) -> list[tuple[str | None, str | None]]:
        """What the store answers each claim, or why not; `unsure` gets the claim that was sent in vain."""
        from callgate.stores.errors import StoreError

        answers: list[tuple[str | None, str | None]] = []
        failed: str | None = None
        for claim in claims:
            # what failed once will fail again, and every attempt may wait for as long as the store waits
            if failed is None:
                try:
                    self._tell_all()
                except StoreError as error:
                    failed = str(error)
                else:
                    try:
                        answers.append((self._store.commit(claim, self._claims.claim_time), None))
                        continue
                    except StoreError as error:
                        failed = str(error)
                        unsure.append(claim)
            answers.append((None, failed))
        return answers

    def _take_back(self, sent: list[str], unanswered: int) -> None:
        for claim in map(json.loads, sent):
            self._release(claim["id"], claim["task"])
        while unanswered:
            unanswered = len(self._claims.answered([(None, "interrupted")] * unanswered)[1])
        verdicts, _ = self._claims.admit_prepared()
        for verdict in verdicts:
            if verdict.allowed:
                self._claims.abandon(verdict.call_id, None)

    def _settle(self, settlement: str | None, *, at: float | None = None) -> None:
        if settlement is not None:
            self._untold.append(lambda now: self._store.settle(settlement, now if at is None else at))
            self._tell()

    def _release(self, claim_id: str, task: str) -> None:
        self._untold.append(lambda now: self._store.release(claim_id, task, now))

    def _tell(self) -> None:
        """Tell the store what it does not know yet; what cannot be told now is told before the next claim."""
        from callgate.stores.errors import StoreError

        with contextlib.suppress(StoreError):
            self._tell_all()

    def _tell_all(self) -> None:
        while self._untold:
            self._untold[0](self._claims.claim_time)
            self._untold.popleft()
