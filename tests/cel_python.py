"""What cel-python makes of an expression, in the tagged form of the conformance cases: a second opinion on ours."""

from __future__ import annotations

import base64
import logging
import warnings
from typing import Any

import celpy
from celpy import celtypes
from celpy.evaluation import CELEvalError, CELUnsupportedError

logging.getLogger("celpy").setLevel(logging.CRITICAL)
# its first parser raises the interpreter's recursion limit, which Hypothesis would find changed in the midst of a test
celpy.Environment().compile("true")

Answer = tuple[str, Any]
"""`("value", tagged)`, `("error", "")` where it says that the expression fails, `("crash", class)` where it falls."""

TYPE_NAMES = {
    celtypes.BoolType: "bool",
    celtypes.BytesType: "bytes",
    celtypes.DoubleType: "double",
    celtypes.DurationType: "google.protobuf.Duration",
    celtypes.IntType: "int",
    celtypes.ListType: "list",
    celtypes.MapType: "map",
    celtypes.StringType: "string",
    celtypes.TimestampType: "google.protobuf.Timestamp",
    celtypes.TypeType: "type",
    celtypes.UintType: "uint",
    type(None): "null_type",
}


def answer(source: str, bindings: dict[str, Any], container: str = "") -> Answer:
    """Evaluate with cel-python; `bindings` are its own values, as `lifted` and `untagged` make them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            environment = celpy.Environment(package=container or None)
            program = environment.program(environment.compile(source))
            return "value", tagged(program.evaluate(bindings))
        except (CELEvalError, CELUnsupportedError, celpy.CELParseError):
            return "error", ""
        except Exception as error:  # it has no rule for which exceptions come out; what is none of its own is a fall
            return "crash", type(error).__name__


def lifted(value: Any) -> Any:
    """JSON-like data as a value of cel-python."""
    return celpy.json_to_cel(value)


def untagged(value: Any) -> Any:
    """A tagged value of a conformance case as a value of cel-python."""
    kind, content = (*value, None)[:2]
    if kind == "null":
        return None
    if kind == "list":
        return celtypes.ListType([untagged(item) for item in content])
    if kind == "map":
        return celtypes.MapType({untagged(key): untagged(item) for key, item in content})
    if kind == "bytes":
        return celtypes.BytesType(base64.b64decode(content))
    if kind == "type":
        return next(cls for cls, name in TYPE_NAMES.items() if name == content)
    makers = {
        "bool": celtypes.BoolType,
        "int": lambda text: celtypes.IntType(int(text)),
        "uint": lambda text: celtypes.UintType(int(text)),
        "double": lambda text: celtypes.DoubleType(float(text)),
        "string": celtypes.StringType,
    }
    return makers[kind](content)


def tagged(value: Any) -> Any:
    """A value of cel-python in tagged form; times and durations as text. Sums may come as Python's own types."""
    if isinstance(value, bool | celtypes.BoolType):
        return ["bool", bool(value)]
    if isinstance(value, celtypes.TimestampType | celtypes.DurationType):
        return ["time", str(value)]
    if isinstance(value, celtypes.UintType | int):
        return ["uint" if isinstance(value, celtypes.UintType) else "int", str(int(value))]
    if isinstance(value, float):
        return ["double", repr(float(value))]
    if isinstance(value, str):
        return ["string", str(value)]
    if isinstance(value, bytes):
        return ["bytes", base64.b64encode(bytes(value)).decode()]
    if isinstance(value, list):
        return ["list", [tagged(item) for item in value]]
    if isinstance(value, dict):
        return ["map", [[tagged(key), tagged(item)] for key, item in value.items()]]
    return ["null"] if value is None else ["type", TYPE_NAMES[value]]


def plain(value: Any) -> Any:
    """A tagged value as `_core._evaluate` gives it."""
    kind, content = (*value, None)[:2]
    if kind == "list":
        return [plain(item) for item in content]
    if kind == "map":
        return {_key(key): plain(item) for key, item in content}
    if kind == "double":
        return float(content)
    return int(content) if kind in ("int", "uint") else content


def _key(value: Any) -> str:
    return str(value[1]).lower() if value[0] == "bool" else str(value[1])


def same(one: Any, other: Any) -> bool:
    """Whether two tagged values are the same: types count, NaN is NaN, the order of a map's entries means nothing."""
    if one[0] != other[0]:
        return False
    if one[0] == "double":
        return repr(float(one[1])) == repr(float(other[1]))
    if one[0] == "list":
        return len(one[1]) == len(other[1]) and all(map(same, one[1], other[1]))
    if one[0] == "map":
        found = all(any(same(key, k) and same(item, i) for k, i in other[1]) for key, item in one[1])
        return len(one[1]) == len(other[1]) and found
    return bool(one[1:] == other[1:])
