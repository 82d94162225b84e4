"""`Retry-After`: seconds and dates, from exceptions, responses and dictionaries."""

import urllib.error
from email.message import Message
from types import SimpleNamespace
from typing import Any

import pytest

from callgate.runtime.retry_after import retry_after

# Sun, 06 Nov 1994 08:49:37 GMT is the date of RFC 9110's own examples.
WALL = 784_111_777.0


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0),
        ("0", 0.0),
        ("1.5", 1.5),
        (" 7 ", 7.0),
        ("-5", 0.0),
        ("Sun, 06 Nov 1994 08:49:47 GMT", 10.0),
        ("Sunday, 06-Nov-94 08:49:47 GMT", 10.0),
        ("Sun Nov  6 08:49:47 1994", 10.0),
        ("Sun, 06 Nov 1994 09:49:47 +0100", 10.0),
        ("Sun, 06 Nov 1994 08:49:27 GMT", 0.0),
        ("99999999999", 366.0 * 24 * 3600),
        ("soon", None),
        ("", None),
        ("nan", None),
        ("inf", None),
        ("1e999", None),
        ("Sun, 99 Nov 1994 08:49:37 GMT", None),
    ],
)
def test_both_forms_are_read(value: str, seconds: float | None) -> None:
    assert retry_after({"headers": {"Retry-After": value}}, WALL) == seconds


def test_a_date_is_taken_against_the_answers_own_date() -> None:
    headers = {"retry-after": "Sun, 06 Nov 1994 08:50:37 GMT", "date": "Sun, 06 Nov 1994 08:50:07 GMT"}
    assert retry_after({"headers": headers}, WALL + 86_400) == 30.0


def test_milliseconds_go_first() -> None:
    assert retry_after({"headers": {"retry-after-ms": "250", "Retry-After": "9"}}, WALL) == 0.25


class Refusing(Exception):
    """As libraries raise for an answer that says no."""

    def __init__(self, **fields: Any) -> None:
        super().__init__("no")
        for name, value in fields.items():
            setattr(self, name, value)


HEADERS: list[Any] = [
    {"Retry-After": "3"},
    {"retry-after": "3"},
    {b"Retry-After": b"3"},
    [("Retry-After", "3")],
    [(b"retry-after", b"3")],
]


@pytest.mark.parametrize("headers", HEADERS)
def test_headers_are_found_on_the_exception_and_on_its_response(headers: Any) -> None:
    assert retry_after(Refusing(headers=headers), WALL) == 3.0
    assert retry_after(Refusing(response=SimpleNamespace(headers=headers)), WALL) == 3.0
    assert retry_after(SimpleNamespace(headers=headers), WALL) == 3.0


def test_an_error_of_urllib_has_them_as_a_message() -> None:
    headers = Message()
    headers["Retry-After"] = "3"
    error = urllib.error.HTTPError("http://x", 503, "no", headers, None)
    assert retry_after(error, WALL) == 3.0
    error.close()


def test_an_exception_may_tell_it_itself() -> None:
    assert retry_after(Refusing(retry_after=4), WALL) == 4.0
    assert retry_after({"type": "http", "status": 429, "retry_after": 4.5}, WALL) == 4.5


@pytest.mark.parametrize(
    "told",
    [None, "text", ValueError("no"), {}, {"headers": None}, {"headers": 7}, {"headers": {}}, Refusing(headers=[1])],
)
def test_what_asks_for_nothing_gives_nothing(told: object) -> None:
    assert retry_after(told, WALL) is None


def test_a_property_that_raises_gives_nothing() -> None:
    class Spiteful(Exception):
        @property
        def headers(self) -> object:
            raise RuntimeError

    assert retry_after(Spiteful(), WALL) is None
