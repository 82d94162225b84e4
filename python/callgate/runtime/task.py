"""A task: the calls of the agents that work on one job, judged before they run and told of afterwards."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Literal

from callgate._core import TaskState

from . import argument_types
from .approved import Approved
from .errors import SpawnError
from .missing import MISSING

if TYPE_CHECKING:
    from callgate._core import Assessment, CompiledPolicy, ModelAdvice, Note, Proposal, Skipped, Stop, Verdict
    from callgate.stores.escalations import Escalation

    from .answers import Answers
    from .call import Call, CallResult
    from .gate import Gate
    from .store_claims import StoreClaims


Grants = Literal["once", "call", "target"]
Scope = Literal["call", "target", "tool"]


class Round:
    """A step of the model. What it came to is there once it has ended.

    `notes` are for the model, with the results. `substitutes` are calls that are proposed instead of some that did not
    deliver, `skipped` what is done without; both say which call they are about.
    """

    def __init__(self) -> None:
        self.notes: tuple[Note, ...] = ()
        self.substitutes: tuple[Proposal, ...] = ()
        self.skipped: tuple[Skipped, ...] = ()


class Task:
    """One agent's view of a task. Made by `Gate.task`, `Gate.resume` and `Task.child`; safe to share between threads.

    Times are seconds. Where `now` is left out the gate's clock is read; a `now` that is given counts from the task's
    start, and one that lies before an earlier one counts as that.
    """

    def __init__(
        self, gate: Gate, state: TaskState, agent: str, started: float, claims: StoreClaims | None = None
    ) -> None:
        self._gate = gate
        self._state = state
        self._claims = claims
        self._started = started
        self.agent = agent
        self._escalation: dict[str, str] | None = None
        self._answers: Answers | None = None
        #: for the executor: what a person said yes to, as long as it did not run
        self.approved = Approved()

    @property
    def id(self) -> str:
        """The task's id."""
        return self._state.id

    @property
    def gate(self) -> Gate:
        """The gate that it is judged by."""
        return self._gate

    @property
    def answers(self) -> Answers:
        """What came of the last calls that the executor made for this agent."""
        if self._answers is None:
            from .answers import Answers

            self._answers = Answers()
        return self._answers

    @property
    def policy(self) -> CompiledPolicy:
        """The compiled policy that the task is judged under."""
        return self._gate.policy

    @property
    def stop(self) -> Stop | None:
        """Why and when the task was stopped, if it was."""
        return self._state.stop

    @property
    def spent(self) -> dict[str, float]:
        """What was used by all agents: `steps`, `tool_calls`, `retries`, `tokens`, `cost`."""
        return self._state.spent

    def admit(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        call_id: str | None = None,
        hints: Mapping[str, Any] | None = None,
        again: bool = False,
        now: float | None = None,
    ) -> Verdict:
        """Judge one call before it runs.

        Args:
            tool: the tool's name.
            arguments: what the model wants to call it with: JSON-like, at most 64 deep. Anything else is refused with
                reason `invalid_arguments`; nothing is raised.
            call_id: the model's id for the call; the engine makes one where it is left out.
            hints: what the host computed for the policy's `hints`.
            again: this is a further attempt of a call that failed, made without asking the model: it takes no step, and
                within a round it is not answered with the attempt before.
            now: seconds since the task's start; the gate's clock where it is left out.

        Returns:
            The verdict. Where `allowed` is true, run the tool with `verdict.arguments` and tell `observe` what came
            back; else give `verdict.reply` to the model.

        Example:
            >>> from callgate import Gate
            >>> task = Gate.load("default").task("order-4711")
            >>> verdict = task.admit("search", {"q": "bearing"}, call_id="c1")
            >>> verdict.allowed
            True
            >>> task.observe("c1", result={"hits": ["6204"]}).grade
            'sufficient'
        """
        asked = (
            argument_types.text(tool, "tool"),
            arguments,
            None if call_id is None else argument_types.text(call_id, "call_id"),
            None if hints is None else argument_types.mapping(hints, "hints"),
        )
        if self._claims is None:
            verdict = self._state.admit(self.agent, *asked, self._now(now), again=again)
        else:
            verdict = self._claims.admit(self.agent, [asked], self._now(now), again)[0]
        if verdict.action == "stop":
            self._hand_over()
        return verdict

    def admit_all(self, calls: Iterable[Mapping[str, Any]], *, now: float | None = None) -> list[Verdict]:
        """Judge the calls of one model turn together, before any of them starts.

        Args:
            calls: each with `tool` and `arguments`, and `call_id` and `hints` where there are some.
            now: seconds since the task's start.

        Returns:
            A verdict for each call, in their order.

        Raises:
            TypeError: this is no list of calls, or a call has no `tool` or no `arguments`; nothing is judged then.
        """
        asked = argument_types.calls(calls)
        if self._claims is None:
            verdicts = self._state.admit_all(self.agent, asked, self._now(now))
        else:
            verdicts = self._claims.admit(self.agent, asked, self._now(now), again=False)
        if any(verdict.action == "stop" for verdict in verdicts):
            self._hand_over()
        return verdicts

    def observe(
        self,
        call_id: str,
        *,
        result: object = MISSING,
        error: BaseException | Mapping[str, Any] | str | None = None,
        is_error: bool = False,
        result_digest: str | None = None,
        tokens: float | None = None,
        cached: float | None = None,
        now: float | None = None,
    ) -> Assessment:
        """Tell what came back from an allowed call.

        Args:
            call_id: the verdict's `call_id`.
            result: what the tool returned; left out where it is not known. Anything Python has: dataclasses and
                pydantic-like objects are read by their fields, what has no JSON form equals nothing.
            error: the exception, `{"type", "status", "message"}`, or a text. The latter two may stand beside a result:
                a command that ended with an error and printed something all the same.
            is_error: the result is a failure, as MCP and others flag it.
            result_digest: a digest of the whole result where `result` was cut.
            tokens: how many tokens the result takes.
            cached: how old the result is, in seconds, where a cache of yours answered instead of the tool.
            now: seconds since the task's start.

        Returns:
            What the engine makes of it. Give the model `notes` beside the result; `next` says what should happen now.
            MCP results, HTTP-like results and envelopes are recognised for what they say; `envelope` tells any outcome
            in one form.

        Raises:
            UnknownCallError: no call of that id is out.
            ValueError: `error` is an exception, and a result was handed over too; the call is still out.
        """
        known = result is not MISSING
        told = None
        if known and isinstance(error, BaseException):
            raise ValueError(
                "a call that raised has no result, and both were handed over: leave `result` out; for a result that "
                "tells of a failure write `is_error=True`, or describe the error: "
                '`error={"type": "exit_nonzero"}`'
            )
        if error is not None:
            from .reported import reported

            told = reported(error)
        observe = self._state.observe if self._claims is None else self._claims.observe
        assessment = observe(
            argument_types.text(call_id, "call_id"),
            self._now(now),
            result=result if known else None,
            known=known,
            error=told,
            is_error=is_error,
            digest=result_digest,
            tokens=None if tokens is None else argument_types.number(tokens, "tokens"),
            cached=None if cached is None else argument_types.number(cached, "cached"),
        )
        self.approved.drop(call_id)
        if assessment.next == "exit":
            self._hand_over()
        return assessment

    def _follow(self, call_id: str, name: str) -> None:
        """A call that is out goes on when it is given up: what it brings then is told to `_came_late`, by this name."""
        follow = self._state.follow if self._claims is None else self._claims.follow
        follow(call_id, name)

    def _came_late(self, name: str, result: object, error: BaseException | None) -> None:
        """Take what a call brought that was given up: it ends the doubt about its effect, in the moment that it is."""
        now = self._now(None)
        told = None
        if error is not None:
            from .reported import reported

            told = reported(error)
        outcome: dict[str, Any] = {"result": None if told else result, "known": told is None, "error": told}
        came_late = self._state.came_late if self._claims is None else self._claims.came_late
        came_late(name, now, **outcome)

    def call(self, function: Callable[..., Any] | Call, /, **arguments: Any) -> CallResult:
        """Make a call: judge it, run it within its time, try it again where that may help, and tell what came of it.

        Args:
            function: the tool; its name is the function's. A `Call` says more: the tool's name, the model's id.
            arguments: what it is called with, by name.

        Returns:
            What came of it. Nothing is raised for a refusal or a failure: `value()` of it does.

        Raises:
            TypeError: the function is a coroutine function, or has no name.

        Example:
            >>> from callgate import Gate
            >>> task = Gate.load("default").task("order-4711")
            >>> def search(q):
            ...     return {"hits": [q]}
            >>> task.call(search, q="bearing").value()
            {'hits': ['bearing']}
        """
        from .execute import call_all, of_arguments

        return call_all(self, [of_arguments(self.gate, function, arguments)])[0]

    def call_all(self, calls: Iterable[Call]) -> list[CallResult]:
        """Make the calls of one model turn: judged as one batch, run side by side in threads, results in their order.

        A failure of one stops no other.

        Raises:
            TypeError: a function is a coroutine function, or has no name; nothing is judged then.
        """
        from .execute import call_all, of_arguments

        return call_all(self, [of_arguments(self.gate, call, {}) for call in calls])

    async def acall(self, function: Callable[..., Any] | Call, /, **arguments: Any) -> CallResult:
        """`call` for coroutine functions; a plain one runs in a thread."""
        from .execute import of_arguments
        from .execute_async import call_all

        return (await call_all(self, [of_arguments(self.gate, function, arguments)]))[0]

    async def acall_all(self, calls: Iterable[Call]) -> list[CallResult]:
        """`call_all` for coroutine functions; plain ones run in threads."""
        from .execute import of_arguments
        from .execute_async import call_all

        return await call_all(self, [of_arguments(self.gate, call, {}) for call in calls])

    def active(self) -> AbstractContextManager[Task]:
        """While the block lasts, functions that are guarded by the gate (`Gate.tool`) work for this task."""
        from .active import active

        return active(self)

    def abandon(self, call_id: str, *, now: float | None = None) -> None:
        """Say that an allowed call never ran: what it reserved is given back.

        Raises:
            UnknownCallError: no call of that id is out.
        """
        abandon = self._state.abandon if self._claims is None else self._claims.abandon
        abandon(argument_types.text(call_id, "call_id"), self._now(now))
        self.approved.drop(call_id)

    def approve(
        self, call_id: str, *, by: str | None = None, grants: Grants = "once", now: float | None = None
    ) -> Verdict:
        """Say yes to a call that was asked about. It is judged once more, on the state as it is now.

        Args:
            call_id: the verdict's `call_id`.
            by: who said it; the report tells.
            grants: how far the yes goes: to this call; to every call that is the same (`call`); to every call of the
                tool with the same target (`target`). Where it lasts, the rules that asked ask no more; a doubt about an
                effect asks every time.
            now: seconds since the task's start.

        Returns:
            The verdict. Where it allows the call, `call(Call(function, verdict.arguments, call_id=call_id))` runs it,
            or you do, and tell `observe`. It is `ask` again where something asks that the person was not told of,
            such as an effect of which nobody knows since: tell them, and approve or deny that.

        Raises:
            UnknownCallError: no call of that id was asked about.
            ValueError: `grants` is none of these words.
        """
        who = argument_types.optional_text(by, "by")
        call_id, now = argument_types.text(call_id, "call_id"), self._now(now)
        if self._claims is None:
            verdict = self._state.approve(call_id, now, by=who, grants=grants)
        else:
            verdict = self._claims.approve(call_id, now, who, grants)
        self.approved.keep(verdict)
        return verdict

    def deny(
        self,
        call_id: str,
        *,
        by: str | None = None,
        scope: Scope = "call",
        why: str | None = None,
        now: float | None = None,
    ) -> list[Note]:
        """Say no to a call that was asked about. The same call, issued again, is refused without asking.

        Args:
            call_id: the verdict's `call_id`.
            by: who said it; the report tells.
            scope: how far the no goes: to every call that is the same (`call`); to every call of the tool with the same
                target (`target`); to every call of the tool (`tool`).
            why: the reason, for the model that tries again.
            now: seconds since the task's start.

        Raises:
            UnknownCallError: no call of that id was asked about.
            ValueError: `scope` is none of these words.
        """
        who, reason = argument_types.optional_text(by, "by"), argument_types.optional_text(why, "why")
        call_id, now = argument_types.text(call_id, "call_id"), self._now(now)
        if self._claims is None:
            return self._state.deny(call_id, now, by=who, scope=scope, why=reason)
        return self._claims.deny(call_id, now, who, scope, reason)

    def resolve(self, key: str, *, landed: bool, by: str) -> None:
        """Say what became of an effect in doubt: a person looked, or something outside the task knows.

        Args:
            key: the entry's key, as the evidence of `ambiguous_effect` names it.
            landed: it took place, and stands as completed from now on; else it did not, and may be done.
            by: who says so.

        Example:
            >>> from callgate import Gate
            >>> task = Gate.load("default").task("order-4711")
            >>> task.resolve("0" * 64, landed=True, by="ada")  # nothing is in doubt under that key: nothing happens
        """
        found = (argument_types.text(key, "key"), bool(landed), argument_types.text(by, "by"))
        if self._claims is None:
            self._state.find_out(*found)
        else:
            self._claims.find_out(*found)

    @contextmanager
    def round(self, *, now: float | None = None) -> Iterator[Round]:
        """Mark a step of the model: all calls admitted inside are one round.

        What the round's calls are noted for is known when it ends: it stands in `notes` of what the `with` gives.

        Example:
            >>> from callgate import Gate
            >>> task = Gate.load("default").task("order-4711")
            >>> with task.round() as step:
            ...     verdict = task.admit("search", {"q": "bearing"})
            ...     assessment = task.observe(verdict.call_id, error={"type": "unknown_tool"})
            >>> [note.reason for note in step.notes]
            ['unknown_tool']
        """
        step = Round()
        with self._alone():
            self._state.begin_round(self.agent, self._now(now))
        try:
            yield step
        finally:
            with self._alone():
                step.notes, step.substitutes, step.skipped = self._state.end_round(self.agent)
            self._hand_over()

    def child(self, agent: str, *, now: float | None = None) -> Task:
        """Start an agent below this one, on the same budgets.

        Args:
            agent: its name, unused in this task.
            now: seconds since the task's start.

        Raises:
            SpawnError: it would be deeper than the policy allows, or the name is taken; nothing is used then.
        """
        agent = argument_types.text(agent, "agent")
        with self._alone():
            refused = self._state.spawn(self.agent, agent, self._now(now))
        if refused is not None:
            raise SpawnError(*refused)
        return Task(self._gate, self._state, agent, self._started, self._claims)

    def user_turn(self, *, by: str, now: float | None = None) -> None:
        """Somebody spoke. Only a turn `by="human"` resets what the policy names."""
        with self._alone():
            self._state.user_turn(self.agent, by == "human", self._now(now))

    def compaction(self, *, now: float | None = None) -> None:
        """The conversation was compacted."""
        with self._alone():
            self._state.compaction(self.agent, self._now(now))

    def usage(self, *, tokens: float = 0.0, cost: float = 0.0, now: float | None = None) -> None:
        """The model used tokens, or money in the policy's currency. Negative amounts count as none."""
        tokens, cost = argument_types.number(tokens, "tokens"), argument_types.number(cost, "cost")
        with self._alone():
            self._state.usage(self.agent, tokens, cost, self._now(now))
        if self._claims is not None:
            self._claims.usage(tokens, cost)

    def snapshot(self) -> str:
        """The task's state as text, for `Gate.resume` in another process.

        Calls that are out count as spent: they may have run. Results kept for reuse are left behind.
        """
        body = {"state": self._state.snapshot(), "elapsed": self._now(None), "wall": self._gate.clock.wall()}
        return json.dumps(body)

    def model_result(
        self,
        provider: str,
        *,
        error: BaseException | Mapping[str, Any] | str | None = None,
        now: float | None = None,
    ) -> ModelAdvice:
        """Tell what came of asking a model, so that the policy can name another provider when one is down as a whole.

        Args:
            provider: whom you asked, as the policy's edges name it.
            error: what went wrong; None where it answered.
            now: seconds since the task's start.

        Returns:
            `next`: `continue`, `retry` (the same one again), `substitute` (one of `providers`) or `skip`. Five failures
            in a row that may pass by themselves open a provider's breaker for 30 s; a single 429 does not.

        Example:
            >>> from callgate import Gate
            >>> task = Gate.load("default").task("order-4711")
            >>> task.model_result("primary").next
            'continue'
            >>> task.model_result("primary", error={"status": 429}).next
            'retry'
        """
        told = None
        if error is not None:
            from .reported import reported

            told = reported(error)
        provider = argument_types.text(provider, "provider")
        return self._state.model_result(self.agent, provider, told, self._now(now))

    def report(self) -> dict[str, Any]:
        """How the task stands, as data.

        The run's status, the stop with its exit decision and evidence, what is known of its needs and what is missing,
        calls, counters, hops, degradations, what was used.

        `status` is None where nothing tells how far the run got: the policy declares no needs, and nothing was stopped.
        The host's `context` is left out: it may hold what no report should. `callgate.report.outcome` renders it.

        Example:
            >>> from callgate import Gate
            >>> report = Gate.load("default").task("order-4711").report()
            >>> report["task"], report["status"], report["counters"]["calls"]
            ('order-4711', None, 0)
        """
        about, policy = self._state.about, self._gate.policy
        return {
            "task": self.id,
            "trace_id": about["trace_id"],
            "conversation_id": about["conversation_id"],
            "tenant": about["tenant"],
            "labels": about["labels"],
            "policy": {"name": policy.name, "revision": policy.revision, "digest": policy.digest},
            "lifted": self._state.lifted,
            **self._state.report(self.agent),
            "spent": self.spent,
            "limits": dict(policy.limits),
            "escalation": self._escalation,
        }

    def summary(self, *, max_tokens: int = 500) -> str:
        """How the task stands, for its model: for the next turn, or after the conversation was compacted.

        What is known with its values, what is missing, what was refused and why, what is left of the budgets, and the
        last calls. What does not fit is left out, the oldest calls first.

        Args:
            max_tokens: the longest that it may be, as `callgate.tokens.estimate_tokens` counts.

        Raises:
            TypeError: `max_tokens` is no number.
            ValueError: `max_tokens` is negative.

        Example:
            >>> from callgate import Gate
            >>> task = Gate.load("default").task("order-4711")
            >>> verdict = task.admit("search", {"q": "bearing"})
            >>> assessment = task.observe(verdict.call_id, result=["6204"])
            >>> print(task.summary(max_tokens=60))
            Task order-4711: 1 tool call so far.
            Budget left:
            - steps: 499 of 500
            Calls, latest first:
            - search {"q": "bearing"}: sufficient
        """
        from .summary import summarise

        argument_types.number(max_tokens, "max_tokens")
        return summarise(self.report(), max_tokens)

    def escalate(self) -> Escalation:
        """Hand the task to a person, with its report, in the gate's queue. Once a task; a second time gives the same.

        This happens by itself at a stop whose exit is `escalate`. Where the store could not be used then, the report
        says so under `escalation`, and this tries again.

        Raises:
            RuntimeError: the gate has no queue: it was loaded without `escalations`.
            StoreError: the store cannot be used.
        """
        queue = self._gate.escalations
        if queue is None:
            raise RuntimeError("the gate has no queue for escalations: load it with `escalations=`")
        desk = self._state.queue(self.agent) or "default"
        found = queue.push(f"{self.id}-{self._state.lineage[:12]}", self.report(), task=self.id, queue=desk)
        self._escalation = {"id": found.id, "queue": found.queue}
        return found

    def _hand_over(self) -> None:
        stop = self._state.stop
        if (
            self._gate.escalations is None
            or stop is None
            or stop.exit != "escalate"
            or "id" in (self._escalation or {})
        ):
            return
        from callgate.stores.errors import StoreError

        try:
            self.escalate()
        except StoreError as error:  # a verdict must come back all the same
            self._escalation = {"error": str(error)}

    def _alone(self) -> AbstractContextManager[object]:
        """With a store: what nothing else may come between, while calls wait for their claims."""
        return nullcontext() if self._claims is None else self._claims.alone

    def _now(self, now: float | None) -> float:
        return self._gate.clock.monotonic() - self._started if now is None else argument_types.number(now, "now")

    def __repr__(self) -> str:
        return f"Task({self.id!r}, agent={self.agent!r})"
