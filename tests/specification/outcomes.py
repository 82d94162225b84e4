"""What came back of a call: failed or not, its class, its identity, its grade and what it carries."""

import json
import re
from collections.abc import Callable
from typing import Any

from specification.calls import Call, Tool
from specification.text import ABSENT, canonical, dig, mask_failure, mask_success, mask_words

TRANSIENT_STATUS = (408, 425, 429, 500, 502, 503, 504)


class Outcome:
    """The outcome of a call, read once when it arrives."""

    def __init__(
        self, call: Call, at: float, result: Any, error: dict[str, Any] | None, is_error: bool, digest: str | None
    ) -> None:
        self.call = call
        self.at = at
        self.digest = digest
        self.known = result is not ABSENT
        self.result = as_json(result)
        tool = call.tool
        if reads_fields(tool):
            result = self.result
        known = result is not ABSENT
        variables = {"args": call.arguments, "hints": call.hints, "error": error or {}}
        if known:
            variables["result"] = result
        self.erred = False
        self.failed = error is not None or is_error
        if known and "failed_when" in tool.result:
            says = self.evaluate(tool.result["failed_when"], variables, bool)
            self.failed = self.failed if says is None else says

        given_error = error or {}
        self.status = given_error.get("status")
        self.type = given_error.get("type") or ("http" if self.status is not None else "tool_error")
        self.named = self.type
        self.klass = self.class_of(variables) if self.failed else None

        ignored, ignored_text = tool.result.get("ignore", []), tool.result.get("ignore_text", [])
        self.normal = strip(result, ignored, ignored_text, mask_failure if self.failed else mask_success)
        message = given_error.get("message")
        self.said = strip(result if message is None else message, ignored, ignored_text, str)
        self.text = as_text(strip(self.said, [], [], mask_failure))

        self.symbol: Any = None
        if self.failed:
            self.symbol = ("failure", self.type, self.status, self.text)
        elif known and (version := self.optional(tool.result.get("version"), variables)) is not None:
            self.symbol = ("version", canonical(version))
        elif digest is not None:
            self.symbol = ("digest", digest)
        elif known:
            self.symbol = ("value", canonical(self.normal))
        self.succeeded_known = not self.failed and self.symbol is not None

        here = known and not self.failed
        state = self.optional(tool.result.get("state"), variables) if here else None
        self.state = None if state is None else canonical(state)
        following = self.optional(tool.coverage.get("next"), variables) if here else None
        self.next = None if following is None else canonical(following)
        self.records = self.records_of(known, variables)
        self.raw_records = dig(tool.result["records"], variables) if self.records is not None else None
        self.grade = self.grade_of(known, variables)
        self.gaps = self.gaps_of()
        self.items = self.items_of()

    def evaluate(self, path: str, variables: dict[str, Any], kind: type = object) -> Any:
        """Follow a path of the manifest; where it leads nowhere, or to another kind of thing, the outcome has erred."""
        value = dig(path, variables)
        if value is ABSENT or not isinstance(value, kind):
            self.erred = True
            return None
        return value

    def optional(self, path: str | None, variables: dict[str, Any]) -> Any:
        """Follow a path whose last field may be absent from its map."""
        if path is None:
            return None
        *way, last = path.split(".")
        inner = self.evaluate(".".join(way), variables, dict) if way else variables
        return None if inner is None else inner.get(last)

    def class_of(self, variables: dict[str, Any]) -> str:
        tool = self.call.tool
        declared = None
        for entry in tool.errors:
            holds = "when" not in entry or self.evaluate(entry["when"], variables, bool)
            if holds is None:  # it erred: the search ends
                break
            if holds:
                self.named = entry.get("type", self.type)
                declared = str(entry["class"])
                break
        if tool.effect in ("write", "external") and self.type in ("timeout", "cancelled", "connection_lost"):
            return "ambiguous"
        if declared is not None:
            return declared
        if self.type in ("timeout", "cancelled", "connection_lost"):
            return "transient" if tool.effect == "read" else "ambiguous"
        if self.type == "http":
            return "transient" if self.status in TRANSIENT_STATUS else "permanent"
        classes = {
            "network": "transient",
            "throttled": "transient",
            "unknown_tool": "format",
            "invalid_arguments": "format",
            "denied": "denied",
        }
        return classes.get(self.type, "permanent")

    @property
    def error_key(self) -> Any:
        """What `same_error` compares: a specific type, else the text with the call's own arguments masked too."""
        if self.named not in ("tool_error", "exit_nonzero", "http", "invalid_arguments"):
            return self.named
        words = [value for value in self.call.arguments.values() if isinstance(value, str) and len(value) >= 3]
        body = strip(self.said, [], [], lambda text: mask_failure(mask_words(text, words)))
        return self.named, self.status, as_text(body)

    def records_of(self, known: bool, variables: dict[str, Any]) -> list[Any] | None:
        if self.failed or not known or "records" not in self.call.tool.result:
            return None
        records: list[Any] | None = self.evaluate(
            self.call.tool.result["records"], variables | {"result": self.normal}, list
        )
        return records

    def grade_of(self, known: bool, variables: dict[str, Any]) -> str:
        declared = self.call.tool.result
        if self.failed:
            return "ungraded" if self.erred else "failed"
        if not known:
            return "ungraded"
        empty = "empty_when" in declared and self.evaluate(declared["empty_when"], variables, bool)
        if self.erred:
            return "ungraded"
        if empty:
            return "empty"
        if self.records is None:
            return "sufficient"
        if not self.records and "empty_when" not in declared:
            return "empty"
        required = declared.get("required_fields", [])
        whole = [record for record in self.records if all(carries(record, name) for name in required)]
        return "sufficient" if len(whole) >= declared.get("min_records", 1) else "partial"

    @property
    def is_one_record(self) -> bool:
        """Tell whether the result is a record as a whole: nothing says where others are in it, and there is no list."""
        has_lists = any("*" in item[1] for item in self.items if item[0] == "leaf")
        return self.records is None and bool(self.items) and not has_lists

    def gaps_of(self) -> list[tuple[Any, str]]:
        wanted = self.call.tool.result.get("wanted_fields", [])
        return [
            (self.record_key(record), name)
            for record in self.records or []
            for name in wanted
            if not carries(record, name)
        ]

    def record_key(self, record: Any) -> Any:
        names = self.call.tool.result.get("key")
        if not names or not isinstance(record, dict):
            return canonical(record)
        return canonical([record.get(name) for name in names])

    def items_of(self) -> set[Any]:
        """Give what the result carries, piece by piece, as gain counts it."""
        if not self.succeeded_known:
            return set()
        if self.digest is not None:
            return {self.symbol}
        if self.records is not None:
            return {("record", self.record_key(record)) for record in self.records}
        return set(leaves(self.normal, ())) or {self.symbol}


def reads_fields(tool: Tool) -> bool:
    """Whether the manifest reads fields of the tool's result, or leaves some of them out."""
    paths = [tool.result.get(key, "") for key in ("failed_when", "empty_when", "records", "version", "state")]
    paths += [entry.get("when", "") for entry in tool.errors] + [tool.coverage.get("next", "")]
    return "records" in tool.result or bool(tool.result.get("ignore")) or any("result." in path for path in paths)


def as_json(result: Any) -> Any:
    """Read a text that is a JSON object or list as that."""
    if not isinstance(result, str) or not result.lstrip().startswith(("{", "[")):
        return result
    try:
        return json.loads(result)
    except ValueError:
        return result


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is ABSENT else canonical(value)


def carries(record: Any, name: str) -> bool:
    return isinstance(record, dict) and record.get(name) is not None and record[name] != ""


def leaves(value: Any, path: tuple[str, ...]) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for name, item in value.items() for leaf in leaves(item, (*path, name))]
    if isinstance(value, list):
        return [leaf for item in value for leaf in leaves(item, (*path, "*"))]
    return [] if value is None or value == "" else [("leaf", path, canonical(value))]


def strip(value: Any, ignore: list[str], ignore_text: list[str], form: Callable[[str], str]) -> Any:
    """Drop the ignored top-level fields, take the ignored texts out of every string, and mask what is left."""
    if isinstance(value, str):
        for pattern in ignore_text:
            value = re.sub(pattern, "", value)
        return form(value)
    if isinstance(value, dict):
        return {name: strip(item, [], ignore_text, form) for name, item in value.items() if name not in ignore}
    if isinstance(value, list):
        return [strip(item, [], ignore_text, form) for item in value]
    return value
