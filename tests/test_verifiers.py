"""What `check` says of `verify.tool`, and of keys that tell apart what is the same call."""

from __future__ import annotations

from pathlib import Path

import pytest

import checked_shop
from callgate import Gate
from callgate.policy.check import check
from callgate.policy.load import load
from checked_shop import HEAD

PAY = "    pay: {effect: external, parameters: {type: object}, verify: {tool: TOOL}}\n"


def told(folder: Path, tools: str) -> list[tuple[str, str, str, str, str | None]]:
    """Code, severity, `line:column`, message and hint of each diagnostic about it."""
    return checked_shop.told(folder, tools, "CG421", "CG427", "CG428")


class TestTheToolThatFindsOut:
    def test_one_that_no_manifest_has_is_a_warning_with_the_nearest_name(self, tmp_path: Path) -> None:
        tools = PAY.replace("TOOL", "find_paymnt") + "    find_payment: {effect: read}\n"
        message = "`find_paymnt` is no tool of the manifests in force, so nobody can find out"
        assert told(tmp_path, tools) == [("CG421", "warning", "11:72", message, "did you mean `find_payment`?")]
        assert Gate.load(tmp_path)

    def test_names_that_are_not_near_are_listed_in_their_order(self, tmp_path: Path) -> None:
        tools = PAY.replace("TOOL", "xyz") + "    looks: {effect: read}\n    books: {effect: read}\n"
        assert [hint for *_, hint in told(tmp_path, tools)] == ["known here: `books`, `looks`, `pay`"]

    @pytest.mark.parametrize("effect", ["write", "external", "ui"])
    def test_one_that_acts_is_an_error(self, tmp_path: Path, effect: str) -> None:
        tools = PAY.replace("TOOL", "find") + f"    find: {{effect: {effect}}}\n"
        message = f"`find` is of effect `{effect}`: to find out what became of a call would be to act"
        hint = "name a tool of effect `read`"
        assert told(tmp_path, tools) == [("CG427", "error", "11:72", message, hint)]

    def test_the_tool_itself_acts(self, tmp_path: Path) -> None:
        assert [each[0] for each in told(tmp_path, PAY.replace("TOOL", "pay"))] == ["CG427"]

    @pytest.mark.parametrize(
        "find",
        [
            "{effect: read}", "{effect: control}", "{}",
            "{effect: write, forms: [{when: args.dry, effect: read}], parameters: {type: object}}",
        ],
    )  # fmt: skip
    def test_of_one_that_only_looks_or_may_only_look_nothing_is_said(self, tmp_path: Path, find: str) -> None:
        assert told(tmp_path, PAY.replace("TOOL", "find") + f"    find: {find}\n") == []

    def test_a_form_is_looked_at_where_it_writes_its_own(self, tmp_path: Path) -> None:
        tools = (
            "    run:\n      parameters: {type: object}\n      forms:\n"
            '        - {when: \'args.?kind.orValue("") == "pay"\', effect: external, verify: {tool: remind}}\n'
            "    remind: {effect: external}\n"
        )
        assert [each[:3] for each in told(tmp_path, tools)] == [("CG427", "error", "14:86")]

    def test_one_of_another_manifest_in_force_is_known(self, tmp_path: Path) -> None:
        (tmp_path / "more.yaml").write_text(
            "apiVersion: callgate/v1\nkind: ToolManifest\nmetadata: {name: bank}\n"
            "spec: {tools: {find_payment: {effect: read}}}\n"
        )
        tools = PAY.replace("TOOL", "find_payment")
        (tmp_path / "desk.yaml").write_text(HEAD.replace("[shop]", "[shop, bank]") + tools)
        assert [each for each in check(load([tmp_path])) if each.code == "CG421"] == []


PARAMETERS = (
    "parameters: {type: object, required: [ref, n], properties: {ref: {type: string}, n: {type: integer}, "
    "list: {type: array}}}"
)


class TestKeys:
    def of(self, folder: Path, identity: str, key: str) -> list[tuple[str, str, str, str, str | None]]:
        tool = (
            f"    pay:\n      effect: external\n      {PARAMETERS}\n      identity: {identity}\n"
            f"      idempotency: {{key: '{key}'}}\n"
        )
        return told(folder, tool)

    def test_an_argument_that_is_trimmed_for_the_identity_and_not_for_the_key_is_a_warning(
        self, tmp_path: Path
    ) -> None:
        message = (
            "the key has `args.ref` as the model writes it, but by `identity.trim` other spellings of it are the same "
            "call"
        )
        hint = "spell it in one way, `args.ref.trim()`, or let `parameters` take one spelling alone"
        assert self.of(tmp_path, "{trim: [ref]}", "[task.id, args.ref]") == [
            ("CG428", "warning", "15:37", message, hint)
        ]

    @pytest.mark.parametrize(
        ("identity", "key", "list_"),
        [
            ("{trim: true}", "[args.ref, string(args.n)]", "trim"),
            ("{casefold: [ref]}", "args.ref", "casefold"),
            ("{paths: [ref]}", '"pay" + args.ref', "paths"),
            ("{unordered: [list]}", "[args.?list.orValue([]), args.ref]", None),
            ("{unordered: [ref]}", "[args.ref]", "unordered"),
            ("{ignore: [n]}", "[args.ref, args.n]", "ignore"),
            # what is spelt in one way, or does not go in
            ("{trim: [ref]}", "[args.ref.trim()]", None),
            ("{trim: [ref]}", "[args.ref . lowerAscii()]", None),
            ("{trim: true}", "[args.n]", None),
            ("{trim: [ref], ignore: [list]}", "[task.id, args.n]", None),
            ("{target: [ref]}", "[args.ref]", None),
        ],
    )
    def test_every_way_in_which_two_calls_are_one_is_known(
        self, tmp_path: Path, identity: str, key: str, list_: str | None
    ) -> None:
        found = [message for code, _, _, message, _ in self.of(tmp_path, identity, key) if code == "CG428"]
        assert [f"`identity.{list_}`" in message for message in found] == ([] if list_ is None else [True])


@pytest.mark.parametrize("code", ["CG427", "CG428"])
def test_the_wrong_example_of_the_page_has_that_fault_and_the_right_one_none(
    tmp_path: Path, root: Path, code: str
) -> None:
    page = (root / "docs" / "diagnostics" / f"{code}.md").read_text()
    wrong, right = (
        part.split("```yaml\n")[1].split("```")[0] for part in page.split("**Wrong**")[1].split("**Right**")
    )
    for example, expected in ((wrong, [code]), (right, [])):
        tools = "".join(f"  {line}\n" for line in example.splitlines()[1:])
        assert [each[0] for each in told(tmp_path, tools)] == expected
