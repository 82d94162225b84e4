"""Arguments that a manifest names and does not declare: in `required`, at any depth, and in the lists of `identity`."""

from __future__ import annotations

from pathlib import Path

import pytest

import checked_shop
from callgate import Gate, PolicyError, _core
from checked_shop import HEAD

PROPERTIES = "properties: {ref: {type: string}, memo: {type: string}}"


def told(folder: Path, tools: str) -> list[tuple[str, str, str, str | None]]:
    """Severity, `line:column`, message and hint of each diagnostic about it."""
    return [each[1:] for each in checked_shop.told(folder, tools, "CG429")]


def place(tools: str, word: str) -> str:
    """`line:column` of the first place of a word among the tools."""
    before = (HEAD + tools).partition(word)[0]
    return f"{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"


def pay(parameters: str, rest: str = "") -> str:
    return f"    pay:\n      effect: read\n      parameters: {{{parameters}}}\n{rest}"


class TestRequired:
    def test_a_name_that_properties_lacks_is_a_warning_with_the_nearest_one(self, tmp_path: Path) -> None:
        message = "`reff` is required, and `properties` does not declare it"
        tools = pay(f"type: object, required: [memo, reff], {PROPERTIES}")
        assert told(tmp_path, tools) == [("warning", place(tools, "reff"), message, "did you mean `ref`?")]
        Gate.load(tmp_path)  # a warning keeps nothing from running

    def test_it_is_an_error_where_nothing_else_may_be_given(self, tmp_path: Path) -> None:
        message = "`zebra` is required and must not be given: `properties` lacks it"
        tools = pay(f"type: object, required: [zebra], additionalProperties: false, {PROPERTIES}")
        assert told(tmp_path, tools) == [("error", place(tools, "zebra"), message, "known here: `ref`, `memo`")]
        with pytest.raises(PolicyError, match="CG429"):
            Gate.load(tmp_path)

    @pytest.mark.parametrize(
        ("inner", "severity"),
        [
            ("to: {required: [ibn], properties: {iban: {type: string}}}", "warning"),
            ("to: {required: [ibn], additionalProperties: false, properties: {iban: {}}}", "error"),
            ("to: {items: {required: [ibn], properties: {iban: {type: string}}}}", "warning"),
            ("to: {anyOf: [{required: [ibn]}, {}], properties: {iban: {type: string}}}", "warning"),
            ("to: {oneOf: [{required: [ibn], additionalProperties: false, properties: {iban: {}}}]}", "warning"),
            ("to: {allOf: [{required: [ibn], additionalProperties: false, properties: {iban: {}}}]}", "error"),
        ],
    )
    def test_objects_inside_of_arguments_are_looked_at(self, inner: str, severity: str, tmp_path: Path) -> None:
        tools = pay(f"type: object, properties: {{{inner}}}")
        found = [(each[0], each[1], each[3]) for each in told(tmp_path, tools)]
        assert found == [(severity, place(tools, "ibn"), "did you mean `iban`?")]

    @pytest.mark.parametrize(
        "parameters",
        [
            f"type: object, required: [ref, memo], {PROPERTIES}",
            "type: object, required: [ref]",
            f"required: [x-1], patternProperties: {{^x-: {{}}}}, {PROPERTIES}",
            f"required: [other], additionalProperties: {{type: string}}, {PROPERTIES}",
            f"required: [other], additionalProperties: true, {PROPERTIES}",
            f"required: [a], allOf: [{{properties: {{a: {{}}}}}}], {PROPERTIES}",
            f"anyOf: [{{required: [ref]}}, {{required: [memo]}}], {PROPERTIES}",
            f"required: [a], $ref: '#/$defs/base', $defs: {{base: {{properties: {{a: {{}}}}}}}}, {PROPERTIES}",
            f"if: {{required: [a]}}, then: {{required: [ref]}}, {PROPERTIES}",
            f"not: {{required: [a]}}, {PROPERTIES}",
            f"required: [a], allOf: [{{$ref: '#'}}, {{$ref: '#'}}], {PROPERTIES}",  # without an end: let pass
        ],
    )
    def test_what_is_declared_or_left_open_is_let_pass(self, parameters: str, tmp_path: Path) -> None:
        assert told(tmp_path, pay(parameters)) == []


class TestIdentity:
    @pytest.mark.parametrize(
        ("identity", "place"),
        [
            ("ignore: [reff]", "14:27"),
            ("trim: [memo, reff]", "14:31"),
            ("casefold: [reff]", "14:29"),
            ("paths: [reff]", "14:26"),
            ("unordered: [reff]", "14:30"),
            ("target: [reff]", "14:27"),
            ("defaults: {reff: x}", "14:29"),
        ],
    )
    def test_a_name_that_parameters_lacks_is_a_warning_with_the_nearest_one(
        self, identity: str, place: str, tmp_path: Path
    ) -> None:
        message = "`reff` is no argument that `parameters` declares"
        found = told(tmp_path, pay(PROPERTIES, f"      identity: {{{identity}}}\n"))
        assert found == [("warning", place, message, "did you mean `ref`?")]

    def test_trim_of_all_texts_names_none(self, tmp_path: Path) -> None:
        assert told(tmp_path, pay(PROPERTIES, "      identity: {trim: true, ignore: [ref]}\n")) == []

    @pytest.mark.parametrize(
        "parameters", ["type: object", f"additionalProperties: true, {PROPERTIES}", "$ref: '#/$defs/x', $defs: {x: {}}"]
    )
    def test_a_tool_that_does_not_say_what_it_takes_may_take_it(self, parameters: str, tmp_path: Path) -> None:
        assert told(tmp_path, pay(parameters, "      identity: {ignore: [reff]}\n")) == []
        assert told(tmp_path, "    pay: {effect: read, identity: {ignore: [reff]}}\n") == []

    def test_a_form_knows_the_arguments_of_its_tool_and_the_tool_those_of_its_forms(self, tmp_path: Path) -> None:
        form = "      forms:\n        - {when: has(args.memo), identity: {ignore: [IGNORED]}PARAMETERS}\n"
        own = form.replace("PARAMETERS", ", parameters: {properties: {memo: {}, other: {}}}")
        assert told(tmp_path, pay(PROPERTIES, form.replace("IGNORED", "memo").replace("PARAMETERS", ""))) == []
        assert told(tmp_path, pay(PROPERTIES, own.replace("IGNORED", "other"))) == []
        assert (
            told(tmp_path, pay(PROPERTIES, "      identity: {ignore: [other]}\n" + own.replace("IGNORED", "memo")))
            == []
        )
        found = told(tmp_path, pay(PROPERTIES, form.replace("IGNORED", "mema").replace("PARAMETERS", "")))
        assert [(each[1], each[3]) for each in found] == [("15:54", "did you mean `memo`?")]

    def test_a_tool_that_extends_another_knows_its_arguments(self, tmp_path: Path) -> None:
        more = "    lend: {extends: pay, identity: {ignore: [IGNORED]}}\n"
        assert told(tmp_path, pay(PROPERTIES, more.replace("IGNORED", "memo"))) == []
        found = told(tmp_path, pay(PROPERTIES, more.replace("IGNORED", "mema")))
        assert [(each[1], each[3]) for each in found] == [("14:46", "did you mean `memo`?")]

    def test_what_a_tool_inherits_is_told_of_the_other_alone(self, tmp_path: Path) -> None:
        tools = pay(PROPERTIES, "      identity: {ignore: [mema]}\n    lend: {extends: pay, timeout: 5s}\n")
        assert [each[1] for each in told(tmp_path, tools)] == ["14:27"]


def test_of_very_many_wrong_names_those_get_the_nearest_one_that_a_report_shows() -> None:
    tool = {"parameters": {"required": [f"n{number}" for number in range(200)], "properties": {"m": {}}}}
    envelope = {"apiVersion": "callgate/v1", "kind": "ToolManifest", "metadata": {"name": "m"}}
    found = _core.validate("ToolManifest", {**envelope, "spec": {"tools": {"f": tool}}})
    assert [fault.hint is None for fault in found] == [False] * 101 + [True] * 99
