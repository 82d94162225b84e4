"""Guarded functions: called as before, they go through the executor of the task that is active."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Final

from .active import active_task
from .call import Approve, Call
from .errors import NoTaskError
from .execute import Guarded, is_coroutine_function

if TYPE_CHECKING:
    from .gate import Gate
    from .task import Task

_UNNAMED: Final = {
    inspect.Parameter.POSITIONAL_ONLY: "can only be given by its place",
    inspect.Parameter.VAR_POSITIONAL: "takes values without names",
}


def guarded(
    gate: Gate, function: Callable[..., Any], *, name: str | None, approve: Approve | None, threaded: bool
) -> Callable[..., Any]:
    """A function that goes through the executor; see `Gate.tool`.

    Its `guarded` tells the executor of the gate's tasks what is inside: they call that, and judge the call once.
    """
    call = Call(function, {}, name, None, None, approve, threaded)
    tool = call.name
    signature = inspect.signature(function)
    for parameter in signature.parameters.values():
        if parameter.kind in _UNNAMED:
            raise TypeError(
                f"the tool `{tool}` cannot be guarded: `{parameter.name}` {_UNNAMED[parameter.kind]}, "
                "and arguments are judged by name"
            )

    gate.functions[tool] = call

    def named(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        bound = signature.bind_partial(*args, **kwargs).arguments
        for parameter in signature.parameters.values():
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                bound.update(bound.pop(parameter.name, {}))
        return bound

    def task() -> Task:
        found = active_task(gate)
        if found is None:
            raise NoTaskError(tool)
        return found

    if is_coroutine_function(function):

        @wraps(function)
        async def call_async(*args: Any, **kwargs: Any) -> Any:
            return (await task().acall(call_async, **named(args, kwargs))).value()

        call_async.guarded = Guarded(gate, call)  # type: ignore[attr-defined]
        return call_async

    @wraps(function)
    def call_sync(*args: Any, **kwargs: Any) -> Any:
        return task().call(call_sync, **named(args, kwargs)).value()

    call_sync.guarded = Guarded(gate, call)  # type: ignore[attr-defined]
    return call_sync
