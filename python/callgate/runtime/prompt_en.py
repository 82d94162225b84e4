"""The rules of a policy as a model reads them, in English."""

from typing import Final

WORDS: Final = {
    "title": "# Tool calls",
    "intro": "Every tool call is judged before it runs. These rules are enforced.",
    "intro_warn": "Every tool call is watched. Nothing is refused; notes beside results say when to change course.",
    "intro_audit": "Keep to these rules when you call tools.",
    "and": " and ",
    "comma": ", ",
    "more": "{names} and others",
    "once": "once",
    "twice": "twice",
    "times": "{count} times",
    "in_a_row": "{times} in a row",
    "first_time": "the first time",
    "record": "1 record",
    "records": "{count} records",
    "stop": "## When to stop",
    "budget": "## What you may use",
    "refusal": "## When a call is refused",
    "instead": "## What to do instead",
    "enough": "Stop calling tools as soon as you have what the task needs. More calls do not make an answer better.",
    "need": "Needed ({id}): at least {records} with {fields}.",
    "need_essential": (
        "Needed ({id}): at least {records} with {fields}; without {essential} a record counts for nothing."
    ),
    "exact_repeat": "Do not repeat a call that brought the same result.",
    "exact_repeat+": "Do not repeat a call that brought the same result: when it has done so {times}, it is refused.",
    "sufficient_reads+": "Do not repeat a read that was sufficient: when it brought the same {times}, it is refused.",
    "consecutive": "Do not make the same call again and again.",
    "consecutive+": "Do not make the same call again and again: after {row} it is refused.",
    "cycle": "Do not go round in the same few calls.",
    "cycle+": "Do not go round in the same few calls: when you went round {times}, each of them is refused.",
    "oscillation": "Do not search on with slightly other arguments where the records stay the same.",
    "oscillation+": (
        "Do not search on with slightly other arguments where the records stay the same: after you did so {often}, "
        "the tool is refused."
    ),
    "same_error": "When a call fails, change what caused the error. Other arguments alone may not help.",
    "same_error+": (
        "When a call fails, change what caused the error. Other arguments alone may not help: when the same error came "
        "{times}, the tool is refused."
    ),
    "same_result": "Do not vary arguments where the result stays the same.",
    "same_result+": (
        "Do not vary arguments where the result stays the same: when different arguments brought it {times}, the tool "
        "is refused."
    ),
    "no_gain": "Calls that bring nothing new are not worth making.",
    "no_gain+": "Calls that bring nothing new are not worth making: after {row} the tool is refused.",
    "no_gain_exit": "When calls of any tools bring nothing new {often}, the task ends.",
    "empty_streak": "When a search finds nothing, rewording it seldom helps. Nothing found is an answer.",
    "empty_streak+": (
        "When a search finds nothing, rewording it seldom helps. Nothing found is an answer: after nothing was found "
        "{often}, the tool is refused."
    ),
    "state_oscillation": "Do not change something back and forth.",
    "state_oscillation+": "Do not change something back and forth: when it was changed back {times}, it is refused.",
    "transfer": "Do not pass the job from agent to agent without work done in between.",
    "transfer+": ("Do not pass the job from agent to agent without work done in between: after {row} it is refused."),
    "diversity+": "When fewer than {share} of your last calls are different ones, repeated calls are refused.",
    "for": "Other numbers hold for {tools}: {numbers}.",
    "for_none": "no limit",
    "label.exact_repeat": "equal results",
    "label.consecutive": "same call in a row",
    "label.oscillation": "searches without new records",
    "label.same_error": "equal errors",
    "label.same_result": "equal results of different arguments",
    "label.no_gain": "calls without anything new",
    "label.empty_streak": "empty results",
    "label.cycle": "rounds",
    "label.state_oscillation": "changes back",
    "waiting": "{tools}: ask how it stands{interval}{unchanged}. Waiting is no loop, but use the time.",
    "waiting_interval": " at most every {duration}",
    "waiting_unchanged": ", and no more than {times} while nothing changes",
    "effects": "{tools}: the effect happens once. The same call again is refused; carry on instead.",
    "unknown": "Use only tools that you were given. Others are refused.",
    "steps": "Steps: {limit}.",
    "tool_calls": "Tool calls: {limit}.",
    "per_tool": "Calls of `{tool}`: {limit}.",
    "per_any_tool": "Calls of any one tool: {limit}.",
    "per_other_tool": "Calls of any one other tool: {limit}.",
    "per_group": "Calls of {tools} together: {limit}.",
    "retries": "Further attempts after failures, of all calls together: {limit}.",
    "tokens": "Tokens: {limit}.",
    "cost": "Cost: {limit} {currency}.",
    "time_task": "Time for the task: {duration}.",
    "time_step": "Time for one step: {duration}.",
    "depth": "Agents below agents: {limit}.",
    "reserve": "The last {limit} tool calls are kept for {tools}.",
    "reserve_one": "The last tool call is kept for {tools}.",
    "notes_at": "You are told at {shares} of a budget. Plan so that the answer still fits in.",
    "refused": (
        "A refused call did not run. The reply is JSON with `code` and `message`: what happened, and what else to do. "
        "Do not send the call again or reworded; follow the message."
    ),
    "retry_after": "Where the reply has `retry_after`, the call may be sent again after that many seconds.",
    "reuse": "A repeated read may be answered with its earlier result, marked with its age. It is still true: use it.",
    "invalid": "INVALID_ARGUMENTS: read the parameters of the tool and mend the arguments; every fault is named.",
    "asked": "Where a person has to decide, do something else meanwhile. A call that was denied stays denied.",
    "rule_ask": "{tools}: a person decides about some calls ({id}{message}).",
    "rule_refuse": "{tools}: some calls are refused ({id}{message}).",
    "rule_stop": "{tools}: some calls end the task ({id}{message}).",
    "all_tools": "All tools",
    "ladder": "When calls were refused {times} for the same thing, the next one ends the task.",
    "final_answer": (
        "When the task is ended you get one more turn without tools: answer with what you have, and say what is "
        "missing."
    ),
    "end": "When the task is ended there is no further turn.",
    "substitute": "If `{field}` is missing after `{source}`, use `{target}`.",
    "substitute_when": "After `{source}`, use `{target}` where `{condition}`.",
    "substitute_any": "Where `{source}` does not deliver, use `{target}`.",
    "hops_one": "At most one such change of tool for one need. Do not go back to a tool that you left.",
    "hops": "At most {count} such changes of tool for one need. Do not go back to a tool that you left.",
    "partial": "If essential fields are there and others missing: finish, and name what is missing.",
    "insufficient": "If less is there than the essential fields: say so; a person takes over.",
    "hours": "{count} h",
    "minutes": "{count} min",
    "seconds": "{count} s",
}
"""A text for each point; with `+` the one that says what is refused. Braces are filled in."""
