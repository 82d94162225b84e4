"""`callgate fmt`, its heart: what a text means, and every comment in it, is the same after formatting as before."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from callgate.policy.compose import compose
from callgate.policy.formatting import format_file
from callgate.policy.open import open_policy
from callgate.policy.source import decode

HEAD = "apiVersion: callgate/v1\nkind: GuardPolicy\n"


def formatted(text: str) -> str:
    found = format_file("x.yaml", text.encode())
    assert found.outcome == "formatted"
    return found.data.decode()


def data(text: str) -> list[Any] | None:
    """What the strict reader makes of a text, types told apart; None where it has a fault."""
    source, undecodable = decode("x.yaml", text.encode(), 1 << 20)
    composed = compose(source)
    if undecodable is not None or composed.diagnostics:
        return None
    return [typed(document.root.data) for document in composed.documents]


def typed(value: Any) -> Any:
    if isinstance(value, dict):
        return ("map", sorted((key, typed(inner)) for key, inner in value.items()))
    if isinstance(value, list):
        return ("list", [typed(inner) for inner in value])
    return (type(value).__name__, repr(value))


def comments(text: str) -> Counter[str]:
    """The comments of texts that say `#` nowhere else, each marked with a number of its own."""
    return Counter(re.findall(r"# c\d+", text))


WORDS = st.sampled_from([
    "a", "b", "metadata", "spec", "name", "steps", "when", "tools", "budgets", "detectors", "extends", "mode", "rules",
    "id", "action", "needs", "time", "kind2", "on", "x y", "123a",
])  # fmt: skip
PLAIN = st.sampled_from([
    "1", "1.0", "010", "true", "no", "~", "null", "text", "two words", "args.amount > 5", "a:b", "-1", "2h", "x#y",
    "'it''s'", "'say \"hi\"'", "'C:\\x'", '"a\\tb"', '"say \\"hi\\""', '"back\\\\slash"', "''", '""', '"\\u00e9"',
    "'y'", "!!str 5", "! 7", "\U0001f600", "é", '"\\x00"', '"a\\/b"',
])  # fmt: skip


class Page:
    """A YAML text that is drawn line by line, with comments that are numbered."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.lines: list[str] = []
        self.count = 0

    def chance(self, of: int) -> bool:
        return self.draw(st.integers(0, of)) == of

    def comment(self) -> str:
        self.count += 1
        return f"# c{self.count}"

    def beside(self) -> str:
        return " " * self.draw(st.integers(1, 4)) + self.comment() if self.chance(4) else ""

    def between(self, indent: int) -> None:
        while self.chance(3):
            if self.chance(2):
                self.lines.append(self.draw(st.sampled_from(["", "  "])))
            else:
                self.lines.append(" " * self.draw(st.sampled_from([0, indent, indent, indent + 2, 1])) + self.comment())

    def flow(self, depth: int) -> str:
        def part() -> str:
            return self.flow(depth - 1) if depth and self.chance(2) else self.draw(PLAIN)

        def sep() -> str:
            if not self.chance(5):
                return self.draw(st.sampled_from([" ", "  "]))
            return f"{self.beside()}\n{' ' * 20}"

        size = self.draw(st.integers(0, 3))
        if self.draw(st.booleans()):
            return "[" + sep() + f"{sep()},{sep()}".join(part() for _ in range(size)) + sep() + "]"
        keys = self.draw(st.lists(WORDS, min_size=size, max_size=size, unique=True))
        return "{" + sep() + f",{sep()}".join(f"{key}: {part()}" for key in keys) + sep() + "}"

    def block_scalar(self, indent: int) -> None:
        header = self.draw(st.sampled_from(["|", ">", "|-", ">-", "|+", ">+"]))
        text = self.draw(st.lists(st.sampled_from(["one", "two words", "  deep", "", "- x", "'q'", "# no", "end"])))
        first = next((line for line in text if line), "x")
        if first.startswith(" "):
            header = header[0] + "2" + header[1:]
        self.lines[-1] += " " + header + self.beside()
        self.lines += [" " * (indent + 2) + line if line else "" for line in text]

    def value(self, indent: int, depth: int, lead: str) -> None:
        kind = self.draw(st.sampled_from(["plain", "plain", "flow", "block", "map", "list", "lines", "empty", "below"]))
        anchor = f" &n{self.count}x{len(self.lines)}" if self.chance(9) else ""
        if kind in ("map", "list") and depth:
            self.lines.append(lead + anchor + self.beside())
            inner = indent + self.draw(st.sampled_from([2, 2, 1, 4]))
            (self.map if kind == "map" else self.list)(inner, depth - 1)
        elif kind == "flow":
            self.lines.append(f"{lead}{anchor} {self.flow(2)}{self.beside()}")
        elif kind == "block":
            self.lines.append(lead + anchor)
            self.block_scalar(indent)
        elif kind == "lines":
            quote = self.draw(st.sampled_from(["", "'", '"']))
            self.lines += [f"{lead}{anchor} {quote}first", *[""] * self.draw(st.integers(0, 2))]
            self.lines.append(" " * (indent + self.draw(st.integers(1, 5))) + f"second{quote}{self.beside()}")
        elif kind == "below":
            self.lines += [lead + anchor + self.beside(), " " * (indent + 1) + self.draw(PLAIN) + self.beside()]
        else:
            self.lines.append(lead + anchor + (" " + self.draw(PLAIN) if kind == "plain" else "") + self.beside())

    def map(self, indent: int, depth: int) -> None:
        for key in self.draw(st.lists(WORDS, min_size=1, max_size=4, unique=True)):
            self.between(indent)
            self.value(indent, depth, " " * indent + key + ":")

    def list(self, indent: int, depth: int) -> None:
        for _ in range(self.draw(st.integers(1, 3))):
            self.between(indent)
            self.value(indent, depth, " " * indent + "-")


@st.composite
def pages(draw: st.DrawFn) -> str:
    page = Page(draw)
    for at in range(draw(st.integers(1, 3))):
        if at or page.chance(3):
            page.between(0)
            page.lines.append("---" + page.beside())
        page.between(0)
        page.lines.append("kind: GuardPolicy")
        page.map(0, 3)
        page.between(0)
        if page.chance(5):
            page.lines.append("..." + page.beside())
            page.lines.append("---")
            page.lines.append("kind: GuardTest")
    return draw(st.sampled_from(["", "\ufeff"])) + "\n".join(page.lines) + draw(st.sampled_from(["", "\n", "\n\n"]))


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(pages(), st.sampled_from(["\n", "\r\n"]))
def test_formatting_changes_no_value_loses_no_comment_and_settles_at_once(text: str, line_break: str) -> None:
    before = data(text)
    assume(before is not None)
    found = format_file("x.yaml", text.replace("\n", line_break).encode())
    assert found.outcome == "formatted"
    after = found.data.decode()
    assert data(after) == before
    assert comments(after) == comments(text)
    assert format_file("x.yaml", found.data).data == found.data


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_comments_and_empty_lines_anywhere_in_a_shipped_file_survive(data_of: st.DataObject) -> None:
    text = (PACKS / data_of.draw(st.sampled_from(SHIPPED))).read_text(encoding="utf-8")
    lines = text.split("\n")
    for count in range(data_of.draw(st.integers(1, 8))):
        at = data_of.draw(st.integers(0, len(lines) - 1))
        if data_of.draw(st.booleans()):
            lines.insert(at, " " * data_of.draw(st.integers(0, 8)) + f"# c{count}")
        else:
            lines[at] += data_of.draw(st.sampled_from([f" # c{count}", f"    # c{count}", "  ", "\n", "\n\n\n"]))
    text = "\n".join(lines)
    before = data(text)
    assume(before is not None)
    after = formatted(text)
    assert (data(after), comments(after), formatted(after)) == (before, comments(text), after)


PACKS = Path(__file__).resolve().parent.parent / "policies"
SHIPPED = sorted(path.relative_to(PACKS).as_posix() for path in PACKS.rglob("*.yaml"))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        # keys come in the order of the model, whatever names authors chose stay in theirs
        ("spec: {tools: {b: {effect: read, description: x}, a: {}}}\nkind: ToolManifest\nmetadata: {name: x}\n",
         "kind: ToolManifest\nmetadata: {name: x}\nspec: {tools: {b: {description: x, effect: read}, a: {}}}\n"),
        # a comment goes where its key goes; that at the top of a document stays there
        ("# top\nkind: GuardPolicy\napiVersion: v1\nspec:\n  # about time\n  time: {task: 2h}  # two\n  mode: warn\n",
         "# top\napiVersion: v1\nkind: GuardPolicy\nspec:\n  mode: warn\n  # about time\n  time: {task: 2h}  # two\n"),
        # what an empty line parts from the first key is about the whole block
        ("kind: GuardPolicy\nspec:\n  # all of it\n\n  time: {task: 2h}\n  mode: warn\n",
         "kind: GuardPolicy\nspec:\n  # all of it\n\n  mode: warn\n  time: {task: 2h}\n"),
        # a comment that is indented like a block's lines closes that block, and goes with it
        ("kind: GuardPolicy\nspec:\n  time:\n    task: 2h\n    # step: 2m\n  mode: warn\n",
         "kind: GuardPolicy\nspec:\n  mode: warn\n  time:\n    task: 2h\n    # step: 2m\n"),
        # an alias never comes before its anchor
        ("kind: GuardPolicy\nspec:\n  time: &t {task: 2h}\n  mode: *t\n",
         "kind: GuardPolicy\nspec:\n  time: &t {task: 2h}\n  mode: *t\n"),
        # two blanks a level, in lists too, and one empty line at most
        ("kind: GuardTest\nspec:\n    steps:\n    - tool: a\n      result:\n      - 1\n\n\n    -   tool: b\n",
         "kind: GuardTest\nspec:\n  steps:\n    - tool: a\n      result:\n        - 1\n\n    - tool: b\n"),
        # double quotes, unless single ones spare escapes; what is not in quotes gets none
        ("kind: GuardTest\nspec: {a: 'x', b: \"say \\\"hi\\\"\", c: 'C:\\d', d: 'it''s', e: \"\\n\", f: no}\n",
         "kind: GuardTest\nspec: {a: \"x\", b: 'say \"hi\"', c: 'C:\\d', d: \"it's\", e: \"\\n\", f: no}\n"),
        # several lines of a flow collection become one, or as few as they take
        ("kind: GuardPolicy\nspec: {\n  mode: warn,\n  tools: [ a ,b ] }\n",
         "kind: GuardPolicy\nspec: {mode: warn, tools: [a, b]}\n"),
        ("kind: GuardPolicy\nspec:\n  tools: [\n" + "    " + "tool_of_twenty_letter,\n" * 6 + "  ]\n",
         "kind: GuardPolicy\nspec:\n  tools: [\n    " + "tool_of_twenty_letter, " * 4 + "tool_of_twenty_letter,\n"
         "    tool_of_twenty_letter]\n"),
        # one with comments inside becomes a block
        ("kind: GuardPolicy\nspec:\n  tools: [a, # first\n    b]  # both\n",
         "kind: GuardPolicy\nspec:\n  tools:\n    - a  # first\n    - b\n    # both\n"),
        # a long expression is never wrapped, folded text keeps its lines
        ("kind: GuardPolicy\nspec:\n  x: " + "args.a == 1 && " * 20 + "true\n", None),
        ("kind: GuardPolicy\nspec:\n    when: >-\n         args.a\n           && args.b\n\n         || args.c\n",
         "kind: GuardPolicy\nspec:\n  when: >-\n    args.a\n      && args.b\n\n    || args.c\n"),
        # a block scalar that ends with the file has no line break at its end, and gets none
        ("kind: GuardPolicy\nx: |\n  last", "kind: GuardPolicy\nx: |-\n  last\n"),
        ("kind: GuardPolicy\nx: |+\n  last\n\n\ny: |2\n   in\n",
         "kind: GuardPolicy\nx: |+\n  last\n\n\ny: |2\n   in\n"),
        # documents of one file, their marks and the comments around them
        ("---   # one\nkind: GuardPolicy\n# end\n\n---\n\n# two\nkind: GuardTest\n...\n",
         "---   # one\nkind: GuardPolicy\n# end\n---\n# two\nkind: GuardTest\n"),
        # blanks that are content stay, also on the last lines of a block scalar
        ("kind: GuardPolicy\nx: |\n a\n  \ny: 1\n", "kind: GuardPolicy\nx: |\n  a\n   \n\ny: 1\n"),
        ("%YAML 1.2\n---\nkind: GuardPolicy", "%YAML 1.2\n---\nkind: GuardPolicy\n"),
        ("kind: GuardPolicy\n? a\n: 1\n? \"b\n  c\"\n: 2\n", "kind: GuardPolicy\na: 1\n\"b c\": 2\n"),
    ],
)  # fmt: skip
def test_a_text_is_written_in_one_way(text: str, wanted: str | None) -> None:
    assert formatted(text) == (text if wanted is None else wanted)


def test_line_breaks_and_a_byte_order_mark_are_kept() -> None:
    found = format_file("x.yaml", b"\xef\xbb\xbfkind:  GuardPolicy\r\nx: |\r\n   a\r\n   b")
    assert found.data == b"\xef\xbb\xbfkind: GuardPolicy\r\nx: |-\r\n  a\r\n  b\r\n"
    assert data(found.data.decode()) == [typed({"kind": "GuardPolicy", "x": "a\nb"})]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b"kind: GuardPolicy\nmode: warn\nmode: audit\n", "CG102"),
        (b"kind: GuardPolicy\n\tmode: warn\n", "CG105"),
        (b"kind: [GuardPolicy\n", "CG101"),
        (b"kind: GuardPolicy\nx: \xff\n", "CG107"),
        (b"kind: GuardPolicy\nx: !mine 1\n", "CG104"),
    ],
)
def test_a_file_with_a_fault_is_left_alone_and_the_fault_is_told(text: bytes, code: str) -> None:
    found = format_file("x.yaml", text)
    assert (found.outcome, found.data, [fault.code for fault in found.diagnostics]) == ("faulty", text, [code])


@pytest.mark.parametrize("text", [b"services:   {}\n", b"- 1\n-   2\n", b"", b"# nothing\n", b"kind:   Deployment\n"])
def test_a_file_that_is_not_of_callgate_is_left_alone(text: bytes) -> None:
    found = format_file("x.yaml", text)
    assert (found.outcome, found.data) == ("foreign", text)


def test_settings_have_no_kind_and_are_formatted_all_the_same() -> None:
    assert format_file("callgate.yaml", b"paths:   [a]\n", ours=True).data == b"paths: [a]\n"


@pytest.mark.parametrize("pack", sorted(path.name for path in PACKS.iterdir() if path.is_dir()))
def test_a_pack_has_the_same_digest_however_it_was_written(pack: str, tmp_path: Path) -> None:
    for path in (PACKS / pack).glob("*.yaml"):
        scattered = _upside_down(path.read_text(encoding="utf-8"))
        (tmp_path / path.name).write_text(scattered, encoding="utf-8")
    before = open_policy(tmp_path)
    for path in tmp_path.glob("*.yaml"):
        path.write_bytes(format_file(path.name, path.read_bytes()).data)
    after, shipped = open_policy(tmp_path), open_policy(PACKS / pack)
    assert before.compiled is not None
    assert after.compiled is not None
    assert shipped.compiled is not None
    assert before.compiled.digest == after.compiled.digest == shipped.compiled.digest


def _upside_down(text: str) -> str:
    """The same documents with the keys of the envelope and of the spec the other way round."""
    parts = re.split(r"^(?=[a-zA-Z])", text, flags=re.MULTILINE)
    head, blocks = parts[0], parts[1:]
    spec = next(at for at, block in enumerate(blocks) if block.startswith("spec:"))
    first, *inner = re.split(r"^(?=  [a-z_]+:)", blocks[spec], flags=re.MULTILINE)
    blocks[spec] = first + "".join(block if block.endswith("\n") else block + "\n" for block in reversed(inner))
    return head + "".join(block if block.endswith("\n") else block + "\n" for block in reversed(blocks))
