"""Lifting runs no code of the host's, whatever an object's class overrides."""

import dataclasses
import datetime
import decimal
import enum
import threading
from collections import OrderedDict, namedtuple
from typing import Any, ClassVar

import pytest

from callgate import ArgumentError, _core, canonical_json, fingerprint


class HostCodeRan(BaseException):
    """Raised by everything that must not run."""


def hostile(*_: object, **__: object) -> Any:
    raise HostCodeRan


NAMES = [
    *("__getattribute__", "__getattr__", "__iter__", "__len__", "__getitem__", "__contains__", "__eq__", "__hash__"),
    *("__bool__", "__str__", "__repr__", "__int__", "__index__", "__float__", "__format__", "__next__", "__reversed__"),
    *("__bytes__", "__fspath__", "__lt__", "__ge__", "__abs__", "__neg__", "__instancecheck__", "__subclasscheck__"),
    *("keys", "items", "values", "get", "encode", "to_bytes", "bit_length", "isoformat", "model_dump", "utcoffset"),
]
OVERRIDES: dict[str, Any] = {
    **dict.fromkeys(NAMES, hostile),
    "__class__": property(hostile),
    "__dict__": property(hostile),
}
Metaclass = type("Metaclass", (type,), {"__getattribute__": hostile, "__instancecheck__": hostile, "__hash__": hostile})


def weird(base: type, *arguments: Any, **more: Any) -> Any:
    return type("Weird", (base,), {**OVERRIDES, **more})(*arguments)


@pytest.mark.parametrize(
    ("base", "value", "canonical"),
    [
        (dict, {"b": 1, "a": 2}, '{"a":2,"b":1}'),
        (OrderedDict, {"b": 1, "a": 2}, '{"a":2,"b":1}'),
        (list, [1, 2], "[1,2]"),
        (tuple, (1, 2), "[1,2]"),
        (str, "é\ud800", '"é\\ud800"'),
        (int, 7, "7"),
        (int, 2**80, "1208925819614629174706176n"),
        (float, 1.5, "1.5"),
    ],
)
def test_what_derives_from_a_json_like_type_is_its_base_value(base: type, value: Any, canonical: str) -> None:
    overrides = OVERRIDES if base is not OrderedDict else {k: v for k, v in OVERRIDES.items() if k != "__eq__"}
    made = base.__new__(type("Weird", (base,), overrides), *((value,) if base not in (dict, OrderedDict, list) else ()))
    if base in (dict, OrderedDict):
        for key, item in value.items():
            dict.__setitem__(made, key, item)
    if base is list:
        list.extend(made, value)
    assert canonical_json(made) == canonical
    assert _core._canonical_result(made) == canonical


def test_a_key_that_derives_from_str_is_its_text() -> None:
    class Key(str):
        __slots__ = ()

    assert canonical_json({Key("b"): 1, "a": 2}) == '{"a":2,"b":1}'


def test_two_keys_that_are_one_text_are_refused() -> None:
    class Key(str):
        __slots__ = ()
        __hash__ = object.__hash__

        def __eq__(self, other: object) -> bool:
            return self is other

    twice = {"in": {Key("a"): 1, "a": 2}}
    with pytest.raises(ArgumentError) as caught:
        canonical_json(twice)
    assert (caught.value.path, str(caught.value)) == ("value.in", "`value.in`: two keys are the same text")
    assert _core._canonical_result(twice) is None


def test_an_object_whose_class_overrides_everything_is_refused_or_opaque_without_being_asked() -> None:
    for made in (weird(object), object.__new__(Metaclass("Weird", (), {}))):
        with pytest.raises(ArgumentError, match="`Weird` is not JSON-like"):
            fingerprint("t", [made])
        assert _core._canonical_result([made]) is None


def test_fields_are_read_where_they_are_stored_and_properties_are_not() -> None:
    @dataclasses.dataclass
    class Plain:
        total: ClassVar[int] = 3
        x: int = 1

        @property
        def y(self) -> int:
            raise HostCodeRan

        def __getattribute__(self, name: str) -> Any:
            raise HostCodeRan

    assert _core._canonical_result(Plain.__new__(Plain)) == "{}"
    made = Plain.__new__(Plain)
    object.__setattr__(made, "x", 5)
    assert _core._canonical_result(made) == '{"x":5}'


def test_a_dict_of_attributes_that_is_a_property_makes_an_object_opaque() -> None:
    fields = {"__dataclass_fields__": {"x": None}, "__dict__": property(hostile)}
    assert _core._canonical_result(type("Record", (), fields)()) == "{}"


def test_a_time_zone_of_somebody_else_s_makes_a_datetime_opaque() -> None:
    class Zone(datetime.tzinfo):
        def utcoffset(self, _: datetime.datetime | None) -> Any:
            raise HostCodeRan

    zone = Zone()  # type: ignore[abstract]
    assert _core._canonical_result(datetime.datetime(2024, 1, 1, tzinfo=zone)) is None
    assert _core._canonical_result(datetime.time(1, 2, tzinfo=zone)) is None


def test_what_derives_from_a_standard_type_is_opaque_for_it_may_hold_more() -> None:
    class Precise(datetime.datetime):
        nanosecond = 5

    class Money(decimal.Decimal):
        currency = "EUR"

    assert _core._canonical_result(Precise(2024, 1, 1)) is None
    assert _core._canonical_result(Money("1.0")) is None


def test_a_decimal_s_text_does_not_follow_the_context() -> None:
    with decimal.localcontext(decimal.Context(capitals=0)):
        assert _core._canonical_result(decimal.Decimal("1E+5")) == 'decimal"1E+5"'


def test_a_named_tuple_is_a_list_and_a_member_with_a_structured_value_is_opaque() -> None:
    class Shape(enum.Enum):
        BOX = (1, 2)

    Point = namedtuple("Point", ["x", "y"])
    assert _core._canonical_result(Point(1, 2)) == "[1,2]"
    assert _core._canonical_result(Shape.BOX) is None


def test_a_model_of_pydantic_is_read_by_its_fields_and_extras() -> None:
    pydantic = pytest.importorskip("pydantic")

    class Model(pydantic.BaseModel):  # type: ignore[misc, name-defined]
        model_config: ClassVar[Any] = {"extra": "allow"}
        b: int
        a: list[int] = []  # noqa: RUF012
        _private: int = 9

        @pydantic.computed_field  # type: ignore[prop-decorator, untyped-decorator]
        @property
        def c(self) -> int:
            raise HostCodeRan

    assert _core._canonical_result(Model(b=1, z="extra")) == '{"a":[],"b":1,"z":"extra"}'


def test_an_error_names_the_path_and_survives_pickling() -> None:
    import pickle

    with pytest.raises(ArgumentError) as caught:
        fingerprint("t", {"items": [{}, {"unit price": b""}], "ok": 1})
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.path, str(again)) == (
        'arguments.items[1]["unit price"]',
        '`arguments.items[1]["unit price"]`: `bytes` is not JSON-like; decode it, or write it as base64 text',
    )


def test_threads_that_change_the_arguments_meanwhile_do_no_harm() -> None:
    shared: dict[str, Any] = {"list": [], "map": {}}
    done = threading.Event()

    def change() -> None:
        turn = 0
        while not done.is_set():
            turn += 1
            shared["map"][f"k{turn % 50}"] = [turn, "\ud800", 2**70]
            shared["list"].append({"n": turn})
            if turn % 50 == 0:
                shared["list"].clear()
                shared["map"].clear()

    changer = threading.Thread(target=change)
    changer.start()
    try:
        texts = [canonical_json(shared) for _ in range(2_000)] + [_core._canonical_by_value(shared) for _ in range(200)]
    finally:
        done.set()
        changer.join()
    assert all(text.startswith('{"list":[') for text in texts)


def test_collecting_garbage_while_a_dict_is_read_does_no_harm() -> None:
    import gc

    class Meddler:
        def __init__(self, target: dict[str, Any]) -> None:
            self.target, self.me = target, self

        def __del__(self) -> None:
            self.target[f"late{len(self.target)}"] = 1

    target: dict[str, Any] = {f"k{n}": 2**70 + n for n in range(200)}
    threshold = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for _ in range(50):
            Meddler(target)
            assert _core._canonical_by_value(target).startswith('{"k0":1180591620717411303424n')
    finally:
        gc.set_threshold(*threshold)
    assert len(target) > 200
