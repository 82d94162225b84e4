"""One turn of a model in a plain loop: its calls judged together, run, and answered in the order in which it asked."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from callgate.messages.arguments import Read, read_arguments
from callgate.messages.parts import Call, Message
from callgate.messages.repair import repair
from callgate.messages.shape import Shape
from callgate.messages.written import result_text

from .call import CallResult, denied_reply
from .missing import MISSING
from .task import Task

if TYPE_CHECKING:
    from callgate._core import Assessment, Note, Verdict


class Said(NamedTuple):
    """A model's response: the messages that it adds to the list, in a provider's shape, and what came with them.

    `cut` are the positions of calls that broke off, `tokens` what the request used, `goes_on` that the provider wants
    the list back as it is, although there is no call to answer.
    """

    shape: Shape
    messages: Sequence[Message]
    cut: frozenset[int] = frozenset()
    tokens: float = 0.0
    goes_on: bool = False


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as the model asked for it. `arguments` is None where they cannot be read, and `fault` says why."""

    id: str
    tool: str
    arguments: dict[str, Any] | None
    written: Any
    fault: str | None = None


class Outcome(NamedTuple):
    """What the model reads for a call: a text, or a provider's blocks of content."""

    content: Any
    is_error: bool


class Turn:
    """The calls of one response, admitted as one batch. Made by `callgate.adapters`.

    `calls` and `verdicts` are in the order of the response. Every call has to be answered before `messages` are there:
    what was not let through is answered already, `run` answers the others with tools of the host, `answer` one by one.
    """

    def __init__(self, task: Task, said: Said, *, usage: bool = True) -> None:
        self.task = task
        self.said = said
        self._was_stopped = task.stop is not None
        mended = repair(said.messages, shape=said.shape.name)
        self._model = [message for message in mended if said.shape.speaker(message) == "model"]
        self._calls = _calls_in(self._model, said.shape)
        self.calls = tuple(_wanted(said, self._calls))
        if usage and said.tokens:
            task.usage(tokens=said.tokens)
        self._outcomes: dict[str, Outcome] = {}
        self._notes: dict[str, list[str]] = {}
        self.verdicts: tuple[Verdict, ...] = ()
        if self.calls:
            self.verdicts = tuple(task.admit_all([_asked(call) for call in self.calls]))
        for call, verdict in zip(self.calls, self.verdicts, strict=True):
            self._take_notes(verdict.notes, call.id)
            self._settle(call, verdict)

    @property
    def open(self) -> tuple[ToolCall, ...]:
        """The calls that were let through and are not answered yet: run them with the arguments of their verdicts."""
        through = {verdict.call_id for verdict in self.verdicts if verdict.allowed}
        return tuple(call for call in self.calls if call.id in through and call.id not in self._outcomes)

    @property
    def asked(self) -> tuple[Verdict, ...]:
        """The verdicts on which a person has to decide, as long as nobody did."""
        return tuple(v for v in self.verdicts if v.action == "ask" and v.call_id not in self._outcomes)

    def verdict(self, call_id: str) -> Verdict:
        """The verdict on a call of this turn.

        Raises:
            KeyError: the turn has no call of that id.
        """
        for verdict in self.verdicts:
            if verdict.call_id == call_id:
                return verdict
        raise KeyError(call_id)

    def decide(self, call_id: str, approved: bool) -> Verdict:
        """Say what a person decided about a call that was asked about. Approved, it is judged once more."""
        if not approved:
            denied = self.verdict(call_id)
            words = " ".join(note.message for note in self.task.deny(call_id))
            self._outcomes[call_id] = Outcome(denied_reply(denied, words), True)
            return denied
        verdict = self.task.approve(call_id)
        self.task.approved.drop(call_id)  # it is answered here
        self.verdicts = tuple(verdict if each.call_id == call_id else each for each in self.verdicts)
        self._settle(next(call for call in self.calls if call.id == call_id), verdict)
        return verdict

    def abandon(self) -> None:
        """Give back the calls that were let through and are not answered yet: none of them has run."""
        for call in self.open:
            self.task.abandon(call.id)

    def answer(
        self,
        call_id: str,
        *,
        result: object = MISSING,
        error: BaseException | Mapping[str, Any] | str | None = None,
        is_error: bool = False,
    ) -> Assessment:
        """Tell what a call brought, to the task and for the model.

        Args:
            call_id: the id of a call that was let through.
            result: what the tool returned.
            error: the exception, `{"type", "status", "message"}`, or a text.
            is_error: the result is a failure.

        Returns:
            What the engine makes of it.

        Raises:
            UnknownCallError: no call of that id is out.
        """
        told = self.task.observe(call_id, result=result, error=error, is_error=is_error)
        self._take_notes(told.notes, call_id)
        if error is not None:
            self._outcomes[call_id] = Outcome(f"Error: {_told(error)}", True)
        else:
            self._outcomes[call_id] = Outcome(None if result is MISSING else result, is_error)
        return told

    def take(self, end: CallResult) -> None:
        """Take in what came of a call that the executor made: the task knows of it already."""
        self._take_notes(end.notes, end.call_id)
        if end.result is not MISSING:
            self._outcomes[end.call_id] = Outcome(end.result, False)
        else:
            self._outcomes[end.call_id] = Outcome(f"Error: {_told(end.error or 'the turn was interrupted')}", True)

    @property
    def messages(self) -> list[Message]:
        """What the list is continued with: what the model said, and the results of all of its calls.

        They are what the provider wants next: in the order of the calls, with Anthropic in one message.

        Raises:
            RuntimeError: a call is not answered yet.
        """
        if not self.calls:
            return list(self._model)
        raws = []
        for call, written in zip(self.calls, self._calls, strict=True):
            content, is_error = self._read_by_model(call)
            raws.append(self.said.shape.result(written, content, is_error=is_error))
        return [*self._model, *self.said.shape.laid(raws, None)[0]]

    @property
    def done(self) -> bool:
        """Whether the loop ends here: the model called nothing, or the task is stopped and had its last word.

        After a stop the model gets one more turn, without tools, if the policy's `on_stop` is `final_answer`.
        """
        if not self.calls:
            return not self.said.goes_on
        return self._was_stopped or (self.task.stop is not None and not self.task.policy.final_answer)

    @property
    def tool_choice(self) -> Any:
        """What to send as `tool_choice` next: no tool once the task is stopped, else any."""
        word = "none" if self.task.stop is not None else "auto"
        return {"type": word} if self.said.shape.name == "anthropic" else word

    def _settle(self, call: ToolCall, verdict: Verdict) -> None:
        """Answer what will not run."""
        if call.fault is not None:
            if verdict.allowed:  # in `audit` and `warn` as well: what cannot be read can be handed to nobody
                self.answer(call.id, error={"type": "invalid_arguments", "message": call.fault})
            self._outcomes[call.id] = Outcome(_unreadable(call, verdict), True)
        elif verdict.action in ("refuse", "stop") or (verdict.action == "reuse" and verdict.reuse_of is None):
            self._outcomes[call.id] = Outcome(verdict.reply or "", verdict.action != "reuse")

    def _read_by_model(self, call: ToolCall) -> Outcome:
        verdict = self.verdict(call.id)
        source = verdict.reuse_of if verdict.reuse_of in {each.id for each in self.calls} else None
        outcome = self._outcomes.get(source or call.id)
        if outcome is None and verdict.action in ("ask", "reuse"):
            outcome = Outcome(verdict.reply or "", verdict.action == "ask")
        if outcome is None:
            raise RuntimeError(f"the call `{call.id}` of `{call.tool}` is not answered yet: `run` or `answer` it")
        notes = [f"Note: {note}" for note in self._notes.get(call.id, ())]
        if not notes:
            return outcome
        if isinstance(outcome.content, list) and self.said.shape.name == "anthropic":
            blocks = [*outcome.content, *({"type": "text", "text": note} for note in notes)]
            return outcome._replace(content=blocks)
        return outcome._replace(content="\n\n".join([result_text(outcome.content), *notes]))

    def _take_notes(self, notes: Iterable[Note], otherwise: str) -> None:
        """Notes of a batch come with the call that ends it, each with the id of the call that it is about."""
        ids = {call.id for call in self.calls}
        for note in notes:
            told = self._notes.setdefault(note.call_id if note.call_id in ids else otherwise, [])
            if note.message not in told:
                told.append(note.message)


def _calls_in(messages: Sequence[Message], shape: Shape) -> list[Call]:
    return [call for index, message in enumerate(messages) for call in shape.calls(index, message)]


def _wanted(said: Said, calls: Sequence[Call]) -> Iterable[ToolCall]:
    """The calls with their arguments as they were written, under the ids of the mended messages."""
    original = _calls_in(said.messages, said.shape)
    for position, (call, written) in enumerate(zip(calls, original, strict=True)):
        read = Read({"input": written.arguments}) if written.free else read_arguments(written.arguments)
        fault = read.why if read.fault is not None else None
        if position in said.cut:
            fault = fault or "the response broke off at its limit of output tokens"
        yield ToolCall(call.id or "", call.tool, None if fault is not None else read.value, written.arguments, fault)


def _asked(call: ToolCall) -> dict[str, Any]:
    # what cannot be read goes in as it is: the engine refuses it, and counts the same text again as a repeat
    arguments = call.written if call.arguments is None else call.arguments
    if call.fault is not None and isinstance(arguments, dict):
        arguments = json.dumps(arguments)
    return {"tool": call.tool, "arguments": arguments, "call_id": call.id}


def _unreadable(call: ToolCall, verdict: Verdict) -> str:
    """What the model reads for arguments that cannot be read: the verdict's words, and what was wrong with the text."""
    if verdict.code not in (None, "INVALID_ARGUMENTS"):
        return verdict.reply or ""
    body: dict[str, Any] = (
        json.loads(verdict.reply) if verdict.reply else {"success": False, "code": "INVALID_ARGUMENTS"}
    )
    advice = "Send them whole, as one JSON object, and shorter if they were cut off."
    end = " The task ends here." if verdict.action == "stop" else ""
    message = f"The arguments of `{call.tool}` could not be read: {call.fault}. The tool did not run. {advice}{end}"
    return json.dumps({**body, "message": message}, ensure_ascii=False)


def _told(error: BaseException | Mapping[str, Any] | str) -> str:
    if isinstance(error, Mapping):
        return str(error.get("message") or error.get("type") or "it failed")
    return error if isinstance(error, str) else f"{type(error).__name__}: {error}"
