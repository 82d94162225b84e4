"""Expressions made by Hypothesis, each with a closure that says what it comes to: the plainest evaluator there can be.

What cel-python is known to get wrong is left out by construction: numbers of two types in one operation, indices below
zero, `string()` of anything but an int, fields of what is no map, times.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from hypothesis import strategies as st

Scope = dict[str, Any]


class Fail(Exception):
    """The expression comes to an error."""


class Made(NamedTuple):
    """An expression and what it comes to."""

    source: str
    value: Callable[[Scope], Any]


WORDS = st.text("aé😀 b", max_size=3)
NUMBERS = st.integers(-9, 9)
DATA = st.fixed_dictionaries(
    {
        "i": NUMBERS,
        "j": st.integers(-(2**63), 2**63 - 1),
        "b": st.booleans(),
        "s": WORDS,
        "l": st.lists(NUMBERS, max_size=4),
        "m": st.dictionaries(st.sampled_from("pqr"), NUMBERS, max_size=3),
    }
)


def whole(number: int) -> int:
    """An integer that fits into 64 bits, or an error."""
    if not -(2**63) <= number < 2**63:
        raise Fail
    return number


def divide(one: int, other: int) -> int:
    if other == 0:
        raise Fail
    quotient = abs(one) // abs(other)
    return whole(quotient if (one < 0) == (other < 0) else -quotient)


def remainder(one: int, other: int) -> int:
    return one - divide(one, other) * other


def attempt(made: Made, scope: Scope) -> bool | None:
    """Its truth, None for an error."""
    try:
        return bool(made.value(scope))
    except Fail:
        return None


def settle(truths: list[bool | None], decisive: bool) -> bool:
    """`&&` and `||`: the decisive truth wins over errors, errors over the other one."""
    if decisive in truths:
        return decisive
    if None in truths:
        raise Fail
    return not decisive


def look_up(data: Any, key: Any) -> Any:
    try:
        return data[key]
    except LookupError:
        raise Fail from None


def variable(name: str) -> Made:
    return Made(f"x.{name}", lambda scope: scope["x"][name])


def constant(value: Any) -> Made:
    return Made(json.dumps(value, ensure_ascii=False), lambda _: value)


def _choose(draw: Any, depth: int, leaves: list[Callable[[], Made]], grown: list[Callable[[], Made]]) -> Made:
    return draw(st.sampled_from(leaves if depth <= 0 else leaves[:1] + grown))()


def _conditional(draw: Any, make: Callable[..., Made], depth: int, names: tuple[str, ...]) -> Made:
    when, then, other = boolean(draw, depth - 1, names), make(draw, depth - 1, names), make(draw, depth - 1, names)
    return Made(
        f"({when.source} ? {then.source} : {other.source})",
        lambda scope: then.value(scope) if when.value(scope) else other.value(scope),
    )


def integer(draw: Any, depth: int, names: tuple[str, ...]) -> Made:
    """An expression that gives an int; `names` are the variables of macros around it."""

    def local() -> Made:
        name = draw(st.sampled_from(names))
        return Made(name, lambda scope: scope[name])

    def binary() -> Made:
        sign, apply = draw(
            st.sampled_from(
                [
                    ("+", lambda a, b: whole(a + b)),
                    ("-", lambda a, b: whole(a - b)),
                    ("*", lambda a, b: whole(a * b)),
                    ("/", divide),
                    ("%", remainder),
                ]
            )
        )
        one, other = integer(draw, depth - 1, names), integer(draw, depth - 1, names)
        return Made(f"({one.source} {sign} {other.source})", lambda scope: apply(one.value(scope), other.value(scope)))

    def size() -> Made:
        of = draw(st.sampled_from([string, numbers]))(draw, depth - 1, names)
        return Made(f"size({of.source})", lambda scope: len(of.value(scope)))

    def item() -> Made:
        of, at = numbers(draw, depth - 1, names), draw(st.integers(0, 4))
        return Made(f"{of.source}[{at}]", lambda scope: look_up(of.value(scope), at))

    def entry() -> Made:
        key = draw(st.sampled_from("pqr"))
        return Made(f"x.m.{key}", lambda scope: look_up(scope["x"]["m"], key))

    leaves = [local] if names else []
    leaves += [lambda: variable("i"), lambda: variable("j"), lambda: constant(draw(NUMBERS.filter(lambda n: n >= 0)))]
    return _choose(draw, depth, leaves, [binary, size, item, entry, lambda: _conditional(draw, integer, depth, names)])


def string(draw: Any, depth: int, names: tuple[str, ...]) -> Made:
    """An expression that gives a string."""

    def join() -> Made:
        one, other = string(draw, depth - 1, names), string(draw, depth - 1, names)
        return Made(f"({one.source} + {other.source})", lambda scope: one.value(scope) + other.value(scope))

    def text() -> Made:
        of = integer(draw, depth - 1, names)
        return Made(f"string({of.source})", lambda scope: str(of.value(scope)))

    leaves = [lambda: variable("s"), lambda: constant(draw(WORDS))]
    return _choose(draw, depth, leaves, [join, text, lambda: _conditional(draw, string, depth, names)])


def numbers(draw: Any, depth: int, names: tuple[str, ...]) -> Made:
    """An expression that gives a list of ints."""

    def literal() -> Made:
        items = [integer(draw, depth - 2, names) for _ in range(draw(st.integers(0, 3)))]
        source = ", ".join(item.source for item in items)
        return Made(f"[{source}]", lambda scope: [item.value(scope) for item in items])

    def join() -> Made:
        one, other = numbers(draw, depth - 1, names), numbers(draw, depth - 1, names)
        return Made(f"({one.source} + {other.source})", lambda scope: one.value(scope) + other.value(scope))

    def mapped() -> Made:
        name, of = f"e{len(names)}", numbers(draw, depth - 1, names)
        each = integer(draw, depth - 1, (*names, name))
        return Made(
            f"{of.source}.map({name}, {each.source})",
            lambda scope: [each.value({**scope, name: item}) for item in of.value(scope)],
        )

    def kept() -> Made:
        name, of = f"e{len(names)}", numbers(draw, depth - 1, names)
        test = boolean(draw, depth - 1, (*names, name))
        return Made(
            f"{of.source}.filter({name}, {test.source})",
            lambda scope: [item for item in of.value(scope) if test.value({**scope, name: item})],
        )

    grown = [literal, join, *([] if len(names) >= 2 else [mapped, kept])]
    return _choose(draw, depth, [lambda: variable("l")], grown)


def boolean(draw: Any, depth: int, names: tuple[str, ...]) -> Made:
    """An expression that gives a bool."""

    def logic() -> Made:
        sign, decisive = draw(st.sampled_from([("&&", False), ("||", True)]))
        sides = [boolean(draw, depth - 1, names) for _ in range(2)]
        return Made(
            f"({sides[0].source} {sign} {sides[1].source})",
            lambda scope: settle([attempt(side, scope) for side in sides], decisive),
        )

    def compare() -> Made:
        sign, apply = draw(
            st.sampled_from(
                [
                    ("==", lambda a, b: a == b),
                    ("!=", lambda a, b: a != b),
                    ("<", lambda a, b: a < b),
                    (">=", lambda a, b: a >= b),
                ]
            )
        )
        make = draw(st.sampled_from([integer, string]))
        one, other = make(draw, depth - 1, names), make(draw, depth - 1, names)
        return Made(f"({one.source} {sign} {other.source})", lambda scope: apply(one.value(scope), other.value(scope)))

    def contains() -> Made:
        name, apply = draw(
            st.sampled_from(
                [
                    ("contains", lambda a, b: b in a),
                    ("startsWith", lambda a, b: a.startswith(b)),
                    ("endsWith", lambda a, b: a.endswith(b)),
                ]
            )
        )
        one, other = string(draw, depth - 1, names), string(draw, depth - 1, names)
        # in cel-python a sum of strings is no CEL string any more, and knows no methods; `string(...)` makes it one
        source = f"string({one.source}).{name}({other.source})"
        return Made(source, lambda scope: apply(one.value(scope), other.value(scope)))

    def member() -> Made:
        one, of = integer(draw, depth - 1, names), numbers(draw, depth - 1, names)
        return Made(f"({one.source} in {of.source})", lambda scope: one.value(scope) in of.value(scope))

    def present() -> Made:
        key = draw(st.sampled_from("pqr"))
        return Made(
            draw(st.sampled_from([f"has(x.m.{key})", f'("{key}" in x.m)'])), lambda scope: key in scope["x"]["m"]
        )

    def negate() -> Made:
        of = boolean(draw, depth - 1, names)
        return Made(f"!{of.source}", lambda scope: not of.value(scope))

    def every() -> Made:
        macro, decisive = draw(st.sampled_from([("all", False), ("exists", True)]))
        name, of = f"e{len(names)}", numbers(draw, depth - 1, names)
        test = boolean(draw, depth - 1, (*names, name))
        return Made(
            f"{of.source}.{macro}({name}, {test.source})",
            lambda scope: settle([attempt(test, {**scope, name: item}) for item in of.value(scope)], decisive),
        )

    grown = [logic, logic, compare, contains, member, present, negate, *([] if len(names) >= 2 else [every])]
    leaves = [lambda: variable("b"), lambda: constant(draw(st.booleans()))]
    return _choose(draw, depth, leaves, [*grown, lambda: _conditional(draw, boolean, depth, names)])


@st.composite
def expressions(draw: Any) -> Made:
    """An expression of any of the types, over a variable `x` as `DATA` makes it."""
    return draw(st.sampled_from([integer, string, numbers, boolean, boolean]))(draw, draw(st.integers(2, 5)), ())
