"""A gate: a compiled policy, and the tasks that are judged under it."""

from __future__ import annotations

import json
import math
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload

from callgate._core import CompiledPolicy, SharedState, SnapshotError, TaskState

from . import argument_types
from .clock import Clock, SystemClock
from .errors import PolicyError
from .task import Task

if TYPE_CHECKING:
    from callgate.policy.diagnostics import Diagnostic
    from callgate.stores.escalations import Escalations

    from .call import Approve, Call
    from .pauses import Pauses
    from .servers import Servers
    from .store_claims import ClaimStore, StoreClaims

_F = TypeVar("_F", bound=Callable[..., Any])

MOST_RESUMED: Final = 65_536
"""Tasks that a gate remembers to have resumed; past it the one that was resumed longest ago is forgotten."""


class Gate:
    """A compiled policy, ready to judge. Immutable; share it between threads. Two gates know nothing of each other.

    `warnings` holds what was found at loading that is no error, `functions` the guarded functions by their tools'
    names.
    """

    def __init__(
        self,
        policy: CompiledPolicy,
        *,
        warnings: tuple[Diagnostic, ...] = (),
        clock: Clock | None = None,
        escalations: Escalations | None = None,
        pauses: Pauses | None = None,
        store: ClaimStore | None = None,
    ) -> None:
        if not isinstance(policy, CompiledPolicy):
            raise TypeError(f"`Gate` takes a compiled policy: `Gate.load({policy!r})` loads one from a path or a pack")
        self.policy = policy
        self.warnings = warnings
        self.clock: Clock = clock or SystemClock()
        self.escalations = escalations
        self.functions: dict[str, Call] = {}
        self._servers: Servers | None = None
        self._pauses = pauses
        self.store = store
        # without a store the gate's tasks share ledger and breakers here
        self._shared = SharedState() if store is None else None
        self._resumed: OrderedDict[str, int] = OrderedDict()
        self._lock = threading.Lock()

    @classmethod
    def load(
        cls,
        source: str | os.PathLike[str] = "default",
        *,
        policy: str | None = None,
        clock: Clock | None = None,
        escalations: str | os.PathLike[str] | None = None,
        pauses: Pauses | None = None,
        store: ClaimStore | str | os.PathLike[str] | None = None,
    ) -> Gate:
        """Load, check and compile a policy.

        Args:
            source: a file or folder of policy documents, or the name of a pack that ships with callgate. Where bindings
                are among them, each applies to whom it names.
            policy: which policy, where there are several; by itself, whatever bindings say.
            clock: where the time comes from; the machine's clocks by default.
            escalations: the file in which tasks that have to go to a person are queued; made where it is not there. The
                store's own queue where it is left out.
            pauses: where the executor takes chance from, and who waits for it; replaceable for tests.
            store: where budgets, effects, breakers and denials are kept, for every process that uses the same: a
                `callgate.stores.Store`, or the path of its file; else what `store` in the project's `callgate.yaml`
                names, where `source` is a path. Without one the tasks of the gate share effects and
                breakers in memory; budgets and denials are each task's own.

        Returns:
            The gate.

        Raises:
            PolicyError: something is wrong with the documents; all of it is in `diagnostics`.
            TypeError: `source` or `escalations` is neither a text nor a path, `policy` is no text, or `store` is
                neither a store nor a path.
            StoreError: the file for escalations or the store cannot be used.

        Example:
            >>> Gate.load("default").policy.name
            'default'
        """
        if not isinstance(source, os.PathLike):
            argument_types.text(source, "source")
        compiled, diagnostics, of_project = _compile(source, argument_types.optional_text(policy, "policy"))
        if compiled is None:
            raise PolicyError(diagnostics)
        named = of_project if store is None else store
        kept = None if named is None else _store(named)
        if escalations is None:
            queue = getattr(kept, "escalations", None)
        else:
            queue = _queue(argument_types.path(escalations, "escalations"))
        return cls(compiled, warnings=tuple(diagnostics), clock=clock, escalations=queue, pauses=pauses, store=kept)

    @property
    def servers(self) -> Servers:
        """The calls of the executor that wait for a server."""
        with self._lock:
            if self._servers is None:
                from .servers import Servers

                self._servers = Servers()
            return self._servers

    @property
    def pauses(self) -> Pauses:
        """What spreads the executor's pauses, and what waits."""
        if self._pauses is None:
            from .pauses import Pauses

            self._pauses = Pauses()
        return self._pauses

    @overload
    def tool(self, function: _F, /) -> _F: ...

    @overload
    def tool(
        self,
        function: None = None,
        /,
        *,
        name: str | None = None,
        approve: Approve | None = None,
        threaded: bool = True,
    ) -> Callable[[_F], _F]: ...

    def tool(
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        name: str | None = None,
        approve: Approve | None = None,
        threaded: bool = True,
    ) -> Any:
        """Guard a function: it is called as before, and every call goes through the executor of the active task.

        Args:
            function: a function or coroutine function whose parameters can all be given by name.
            name: the tool's name in policies; the function's own otherwise.
            approve: asked where a person has to decide.
            threaded: False for a function that has to run in its caller's thread.

        Returns:
            The guarded function. It returns what the function does, or an earlier result that stands in; it raises
            what the function raised, `Refused` where the policy did not let it run, and `NoTaskError` outside of
            `with task.active():`.

        Raises:
            TypeError: it has parameters that cannot be given by name.

        Example:
            >>> gate = Gate.load("default")
            >>> @gate.tool
            ... def search(q):
            ...     return {"hits": [q]}
            >>> with gate.task("order-4711").active():
            ...     search("bearing")
            {'hits': ['bearing']}
        """
        from .guarded import guarded

        def guard(given: Callable[..., Any]) -> Any:
            return guarded(self, given, name=name, approve=approve, threaded=threaded)

        return guard if function is None else guard(function)

    def task(
        self,
        task_id: str,
        *,
        agent: str = "root",
        trace_id: str | None = None,
        conversation_id: str | None = None,
        tenant: str | None = None,
        labels: Mapping[str, str] | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> Task:
        """Begin a task.

        Args:
            task_id: the job's id, as it shall stand in logs.
            agent: the name of the agent that begins it.
            trace_id: the trace that it is a part of.
            conversation_id: the conversation that it belongs to.
            tenant: whom it is done for; bindings and exceptions may name it.
            labels: marks of the host's own; bindings and exceptions may name them.
            context: what the host knows and expressions may read as `task.context`: JSON-like, at most 64 deep. It is
                copied, and kept in snapshots.

        Raises:
            TypeError: an argument is of another type than it has to be, such as a label that is no text.
            ArgumentError: `context` is not JSON-like; `path` says where.

        Example:
            >>> task = Gate.load("default").task("order-4711", tenant="acme", context={"region": "eu"})
            >>> task.report()["tenant"]
            'acme'
        """
        state = TaskState(
            self.policy,
            argument_types.text(task_id, "task_id"),
            os.urandom(16),
            0.0,
            context=argument_types.mapping(context, "context"),
            trace_id=argument_types.optional_text(trace_id, "trace_id"),
            conversation_id=argument_types.optional_text(conversation_id, "conversation_id"),
            tenant=argument_types.optional_text(tenant, "tenant"),
            labels=argument_types.text_mapping(labels, "labels"),
            began=self.clock.wall(),
            shared=self._shared,
            store=self.store is not None,
        )
        agent = argument_types.text(agent, "agent")
        return Task(self, state, agent, self.clock.monotonic(), self._claims(state))

    def resume(self, snapshot: str, *, agent: str = "root", any_policy: bool = False) -> Task:
        """Go on from `Task.snapshot`, in this or another process. The time in between counts.

        Args:
            snapshot: what `Task.snapshot` returned.
            agent: the agent whose view is wanted.
            any_policy: also where the snapshot was taken under another policy.

        Raises:
            SnapshotError: it is no snapshot, of another format or policy, or this gate has resumed it, or a later
                one of the task, before; with a store, or any process that uses the same.
            StoreError: the store cannot be used.
        """
        try:
            body: Any = json.loads(snapshot)
            text, elapsed, wall = body["state"], float(body["elapsed"]), float(body["wall"])
            # times that are no numbers would switch every budget by time off
            if not isinstance(text, str) or not (math.isfinite(elapsed) and math.isfinite(wall)) or elapsed < 0.0:
                raise ValueError("its state or times are none")
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
            raise SnapshotError(f"this is no snapshot of a task: {error}") from None
        state = TaskState.resume(
            self.policy, text, any_policy=any_policy, shared=self._shared, store=self.store is not None
        )
        with self._lock:
            # an older generation than one that was resumed would be a second line of the same task
            if state.generation <= self._resumed.get(state.lineage, -1):
                raise SnapshotError(f"generation {state.generation} of task `{state.id}` was resumed already")
            self._resumed[state.lineage] = state.generation
            self._resumed.move_to_end(state.lineage)
            if len(self._resumed) > MOST_RESUMED:
                self._resumed.popitem(last=False)
        claims = self._claims(state)
        if self.store is None or claims is None:
            state.revive()
        else:
            from .store_claims import resume_once

            resume_once(self.store, state)
            claims.revive()
        # a wall clock that jumped back must not give time back
        away = max(0.0, self.clock.wall() - wall)
        agent = argument_types.text(agent, "agent")
        return Task(self, state, agent, self.clock.monotonic() - elapsed - away, claims)

    def _claims(self, state: TaskState) -> StoreClaims | None:
        if self.store is None:
            return None
        from .store_claims import StoreClaims

        return StoreClaims(state, self.store)

    def __repr__(self) -> str:
        return f"Gate({self.policy.name!r}, digest={self.policy.digest[:12]!r})"


def _queue(path: str | os.PathLike[str]) -> Escalations:
    from callgate.stores.escalations import Escalations

    return Escalations(path)


def _store(store: ClaimStore | str | os.PathLike[str]) -> ClaimStore:
    if not isinstance(store, str | os.PathLike):
        if not callable(getattr(store, "commit", None)):
            raise TypeError(f"`store` must be a store or the path of its file, not {type(store).__name__}")
        return store
    from callgate.stores import open_store

    return open_store(store)


def _compile(
    source: str | os.PathLike[str], policy: str | None
) -> tuple[CompiledPolicy | None, list[Diagnostic], str | None]:
    """The policy, what was found at loading, and the store that the project's settings name."""
    from callgate.policy.open import open_policy

    opened = open_policy(source, name=policy)
    return opened.compiled, opened.diagnostics, opened.loaded.settings.store_path()
