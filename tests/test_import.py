"""`callgate import`: a first manifest from lists of tools and from traces, whose guesses are marked and which loads."""

import gzip
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callgate import Gate
from callgate.cli.main import main
from callgate.policy.check import check
from callgate.policy.compose import compose
from callgate.policy.draft import Draft, Guess, leave_out_refused
from callgate.policy.load import load
from callgate.policy.source import Source
from callgate.policy.tool_guesses import guess_rest
from callgate.policy.tool_lists import read_tool_list
from callgate.policy.tool_words import effect_of, is_poll, is_transfer
from callgate.report.manifest import render

MARKED = "# A line with `# guess:` was not said by anybody: look at it, mend it, and take the mark away.\n"

MCP = {
    "jsonrpc": "2.0", "id": 1, "result": {"tools": [
        {
            "name": "get_order", "title": "Get an order", "description": "One order.\n\nBy its number.",
            "inputSchema": {
                "$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "required": ["order_id"],
                "properties": {
                    "order_id": {"type": "string", "pattern": "^[0-9]+$"},
                    "detail": {"enum": ["no", "yes", "010"], "default": "no"},
                    "request_id": {"type": "string"},
                },
            },
            "annotations": {"readOnlyHint": True},
        },
        {
            "name": "add_note", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
            "annotations": {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False},
        },
        {
            "name": "cancel_order", "inputSchema": {"type": "object"},
            "annotations": {"title": "Cancel", "destructiveHint": True, "idempotentHint": True, "openWorldHint": True},
        },
        {"name": "move_money", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": False}},
        {"name": "wait_for_build", "inputSchema": {"type": "object", "required": ["build_id"], "properties": {
            "build_id": {"type": "integer"}}}},
    ]},
}  # fmt: skip

OF_MCP = (
    "# Made by `callgate import` from shop.json.\n"
    + MARKED
    + """apiVersion: callgate/v1
kind: ToolManifest
metadata: {name: shop}
spec:
  tools:
    # Get an order
    get_order:
      description: |-
        One order.

        By its number.
      effect: read
      parameters:
        "$schema": "http://json-schema.org/draft-07/schema#"
        type: object
        required: [order_id]
        properties:
          order_id: {type: string, pattern: "^[0-9]+$"}
          detail: {enum: ["no", "yes", "010"], default: "no"}
          request_id: {type: string}
      identity:
        ignore: [request_id]  # guess: named like something that is new in each call
        defaults: {detail: "no"}
        target: [order_id]  # guess: named like what is acted upon

    add_note:
      effect: write  # guess: it changes something, but its world is closed (`openWorldHint: false`)
      parameters: {type: object, properties: {text: {type: string}}}

    # Cancel
    cancel_order:
      effect: external
      idempotent: true
      parameters: {type: object}

    move_money:
      effect: external  # guess: it is not read-only, and its world is open by MCP's default
      parameters: {type: object}

    wait_for_build:
      effect: read  # guess: by the word `wait` in its name
      parameters: {type: object, required: [build_id], properties: {build_id: {type: integer}}}
      identity:
        target: [build_id]  # guess: named like what is acted upon
      waiting: {max_unchanged: 20, max_stale: 10m}  # guess: named like a tool that is asked until something is done
"""
)

SEARCH_SCHEMA = {
    "type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"], "additionalProperties": False,
}  # fmt: skip
SEARCH = {"name": "search", "description": "Find parts"}
OF_SEARCH = (
    "# Made by `callgate import` from tools.json.\n"
    + MARKED
    + """apiVersion: callgate/v1
kind: ToolManifest
metadata: {name: tools}
spec:
  tools:
    search:
      description: Find parts
      effect: read  # guess: by the word `search` in its name
      parameters:
        type: object
        properties: {q: {type: string}}
        required: [q]
        additionalProperties: false
      identity:
        trim: [q]  # guess: words of a search
        casefold: [q]  # guess: words of a search; take it out where upper and lower case differ
"""
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = main(["import", *argv])
    out, err = capsys.readouterr()
    assert "Traceback" not in out + err
    return code, out, err


def faults(folder: Path, text: str) -> list[str]:
    (folder / "manifest.yaml").write_text(text, encoding="utf-8")
    return [found.message for found in check(load([folder / "manifest.yaml"]))]


def test_an_mcp_answer_becomes_a_manifest_in_which_guesses_alone_are_marked(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "shop.json").write_text(json.dumps(MCP))
    assert run(capsys, "shop.json") == (0, OF_MCP, "")
    assert faults(folder, OF_MCP) == []


def test_the_envelope_may_be_left_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "shop.json").write_text(json.dumps(MCP["result"]))
    assert run(capsys, "shop.json") == (0, OF_MCP, "")


@pytest.mark.parametrize(
    "tools",
    [
        [{"type": "function", "function": {**SEARCH, "parameters": SEARCH_SCHEMA}}],
        [{"type": "function", **SEARCH, "parameters": SEARCH_SCHEMA, "strict": True}],
        [{**SEARCH, "input_schema": SEARCH_SCHEMA}],
        {"model": "m", "messages": [], "tools": [{**SEARCH, "input_schema": SEARCH_SCHEMA}]},
    ],
    ids=["chat completions", "responses", "anthropic", "a whole request"],
)  # fmt: skip
def test_the_lists_of_model_providers_all_come_to_the_same(
    tools: Any, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "tools.json").write_text(json.dumps(tools))
    assert run(capsys, "tools.json") == (0, OF_SEARCH, "")


def line(session: str, tool: str, arguments: dict[str, Any], **rest: Any) -> dict[str, Any]:
    return {"session": session, "tool": tool, "arguments": arguments, **rest}


def uuid(number: int) -> str:
    return f"0f8fad5b-d9cb-469f-a165-7086772895{number:02d}"


RUN = [
    *(
        line("a", "get_price", {"sku": "6204", "nonce_of_call": uuid(n)}, result={"rows": [n], "at": n})
        for n in range(5)
    ),
    line("a", "get_price", {"sku": "6205", "nonce_of_call": uuid(9), "limit": 3}, result={"rows": []}),
    {"session": "a", "event": "user_turn", "by": "human"},
    *(line("a", "render", {"id": 7, "scale": scale}, result="done") for scale in (1, 1.5, None)),
    line("b", "sync", {"repo": "x"}, result={"done": False}),
    line("b", "sync", {"repo": "x"}, result={"done": False}),
    line("b", "sync", {"repo": "x"}, result={"done": False}),
    line("b", "sync", {"repo": "x"}, result={"done": True}),
    line("b", "made_up", {"x": 1}, error={"type": "unknown_tool"}),
]
OF_RUN = (
    "# Made by `callgate import` from run.jsonl.\n"
    + MARKED
    + """apiVersion: callgate/v1
kind: ToolManifest
metadata: {name: run}
spec:
  tools:
    get_price:
      effect: read  # guess: by the word `get` in its name
      parameters:  # guess: names and types as seen in 6 calls
        type: object
        required: [sku, nonce_of_call]  # guess: there in each of 6 calls
        properties: {sku: {type: string}, nonce_of_call: {type: string}, limit: {type: integer}}
      identity:
        ignore: [nonce_of_call]  # guess: new in each call, also where all else was the same
      result:
        records: result.rows  # guess: the one list in each of 6 results

    render:
      effect: unknown  # guess: its name does not say what it changes
      parameters:  # guess: names and types as seen in 3 calls
        type: object
        required: [id, scale]  # guess: there in each of 3 calls
        properties: {id: {type: integer}, scale: {type: [number, "null"]}}
      identity:
        target: [id]  # guess: named like what is acted upon

    sync:
      effect: unknown  # guess: its name does not say what it changes
      parameters:  # guess: names and types as seen in 4 calls
        type: object
        required: [repo]  # guess: there in each of 4 calls
        properties: {repo: {type: string}}
      waiting: {max_unchanged: 20, max_stale: 10m}  # guess: once asked again with no change, until the answer changed
"""
)
LEFT_OUT = "callgate: {}: `made_up` is left out: no call of it reached a tool\n"


@pytest.mark.parametrize("compressed", [False, True])
def test_a_trace_becomes_a_manifest_of_guesses(
    compressed: bool, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, text = "run.jsonl", "\n".join(map(json.dumps, RUN)).encode()
    if compressed:
        file, text = file + ".gz", gzip.compress(text)
    (folder / file).write_bytes(text)
    assert run(capsys, file) == (0, OF_RUN.replace("run.jsonl", file), LEFT_OUT.format(file))
    assert faults(folder, OF_RUN) == []


def test_calls_that_keep_one_answer_and_are_given_up_are_no_poll(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stuck = [line("c", "sync", {"repo": "y"}, result=1) for _ in range(4)] + [
        line("c", "sync", {"repo": "z"}, result=1)
    ]
    (folder / "run.jsonl").write_text("\n".join(map(json.dumps, [*RUN, *stuck])))
    assert "waiting" not in run(capsys, "run.jsonl")[1]


def test_an_order_that_stands_twice_in_a_run_is_not_volatile(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    calls = [line("a", "get_price", {"order": uuid(n % 4), "kind": "x"}, result=n) for n in range(8)]
    (folder / "run.jsonl").write_text("\n".join(map(json.dumps, calls)))
    assert "ignore" not in run(capsys, "run.jsonl")[1]


def test_broken_lines_of_a_trace_are_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [json.dumps(RUN[0]), "{", "[]", json.dumps({"session": "a", "tool": "f"})]
    (folder / "run.jsonl").write_text("\n".join(lines))
    code, _, err = run(capsys, "run.jsonl")
    told = "callgate: run.jsonl: 3 of its lines are left out: they are no records of calls or events\n"
    assert (code, err) == (0, told)


def test_standard_input_is_read(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(MCP).encode())))
    _, out, _ = run(capsys, "-", "--name", "shop")
    assert out == OF_MCP.replace("shop.json", "standard input")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("\n".join(map(json.dumps, RUN)).encode())))
    _, out, _ = run(capsys, "-", "--name", "run")
    assert out == OF_RUN.replace("run.jsonl", "standard input")


def test_pages_of_a_list_come_together(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = {"tools": [{"name": "a", "inputSchema": {}}], "nextCursor": "x"}
    (folder / "one.json").write_text(json.dumps(first))
    (folder / "two.json").write_text(json.dumps({"tools": [{"name": "b", "inputSchema": {}}]}))
    code, out, err = run(capsys, "one.json", "two.json")
    (document,) = compose(Source("m", out)).documents
    assert (code, list(document.root.data["spec"]["tools"])) == (0, ["a", "b"])
    assert "one.json: the answer names a next page" in err


def test_parameters_that_the_engine_refuses_are_left_out_and_told(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = {"properties": {"x": {"$ref": "https://example.com/x.json"}}}
    (folder / "t.json").write_text(json.dumps([{"name": "get", "input_schema": schema}]))
    code, out, err = run(capsys, "t.json")
    assert code == 0
    assert err.startswith("callgate: `get`: `parameters` are left out: no JSON Schema: ")
    assert "    # `parameters` are left out: no JSON Schema: " in out
    assert faults(folder, out) == []


def test_tools_that_run_at_the_provider_have_no_name_and_are_left_out(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "t.json").write_text(json.dumps([{"type": "web_search"}, {"type": "bash_20250124", "name": "bash"}]))
    code, out, err = run(capsys, "t.json")
    assert (code, err.splitlines()) == (
        0,
        [
            "callgate: t.json: tool 1, of type 'web_search', is left out: it has no name to judge calls by",
            "callgate: `bash`: the source declares no arguments: any are let through",
        ],
    )
    assert "bash:\n      effect: unknown  # guess: `bash` may do anything" in out


def test_a_file_is_written_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "shop.json").write_text(json.dumps(MCP))
    assert run(capsys, "shop.json", "--output", "m.yaml") == (0, "", "")
    assert (folder / "m.yaml").read_text() == OF_MCP
    told = "callgate: `m.yaml` is there already, nothing was written; `--force` overwrites\n"
    (folder / "m.yaml").write_text("mine")
    assert run(capsys, "shop.json", "--output", "m.yaml") == (2, "", told)
    assert (folder / "m.yaml").read_text() == "mine"
    assert run(capsys, "shop.json", "--output", "m.yaml", "--force") == (0, "", "")
    assert (folder / "m.yaml").read_text() == OF_MCP


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "there is nothing in it"),
        ("tools: []", "not JSON: line 1, column 1: expecting value"),
        ('{"tools": [\n {"name" "x"}]}', "not JSON: line 2, column 10: expecting ':' delimiter"),
        ("3", "no list of tools: there is none by the name of `tools`"),
        ('{"result": {}}', "no list of tools"),
        ('{"tools": []}', "the list of tools is empty"),
        ('[{"type": "web_search"}]', "none of the tools has a name to judge calls by"),
        ('{"jsonrpc": "2.0", "error": {"code": -1, "message": "no"}}', "the server answered with an error: no"),
        ('{"tools": [{"name": "a"}, {"name": "a"}]}', "two tools are named `a`: take one of them out"),
        ('{"tools": [{"name": "a", "name": "b"}]}', "an object has the key 'name' twice"),
        ('{"tools": ["a"]}', "tool 1 is no object"),
        ('{"tools": [{"name": 3}]}', "tool 1 has no name"),
        ('{"tools": [{"name": ""}]}', "tool 1 has no name"),
        ('{"tools": [{"name": " a"}]}', "the name of tool 1, ' a', has blanks around it or characters"),
        (r'{"tools": [{"name": "a\u001b[2J"}]}', "the name of tool 1, 'a\\x1b[2J', has blanks around it or characters"),
        (r'{"tools": [{"name": "\ud800"}]}', "half of a surrogate pair"),
        (json.dumps([{"name": "n" * 300}]), "the name of tool 1 has 300 characters, and 256 are the most"),
        ('[{"name": "a", "input_schema": true}]', "`input_schema` of the tool `a` is no object"),
        ('[{"name": "a", "input_schema": {"maximum": NaN}}]', "not JSON: `NaN` is no number"),
        ('[{"name": "a", "input_schema": {"maximum": 1e999}}]', "a number is too large"),
        ('[{"name": "a", "input_schema": {"maximum": %s}}]' % ("9" * 500), "a number of 500 digits is too long"),
        ('[{"name": "a", "input_schema": {"%s": 1}}]' % ("k" * 600), "has 600 characters, and 512 are the most"),
        ("[" * 100, "not JSON: line 1, column 101: expecting value"),
        ("[" * 100 + "]" * 100, "nested deeper than 56 levels"),
        ("[" * 200_000 + "]" * 200_000, "nested deeper than 56 levels"),
        ('{"session": "a", "event": "compaction"}', "there is no call in this trace"),
        (json.dumps([{"name": f"t{n}", "description": "d" * 200} for n in range(10_000)]),
         "the manifest of these 10,000 tools would take "),
        (json.dumps([{"name": f"t{n}", "inputSchema": {"required": ["a", "b", "c"]},
                      "annotations": {"readOnlyHint": True}} for n in range(10_000)]),
         "the manifest of these 10,000 tools could not be loaded: more than 100,000 values; import them in parts"),
    ],
)  # fmt: skip
def test_what_no_manifest_can_be_made_from_is_refused_with_its_reason(
    text: str, told: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "t.json").write_text(text)
    code, out, err = run(capsys, "t.json", "--output", "m.yaml")
    assert (code, out, told in err, err.count("\n")) == (2, "", True, 1), err
    assert not (folder / "m.yaml").exists()


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["no.json"], "no.json: cannot read the file: no such file or directory"),
        (["."], ".: this is a folder"),
        (["-", "-"], "standard input can be read once"),
        (["t.json", "--name", " x"], "the manifest's name is empty, or has blanks around it"),
        (["t.json", "--output", "."], "`.` is a folder, and a file is wanted"),
        (["t.json", "--output", "no/m.yaml"], "cannot write `no/m.yaml`: no such file or directory"),
    ],
)
def test_a_wrong_command_is_told(argv: list[str], told: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "t.json").write_text('[{"name": "a"}]')
    code, _, err = run(capsys, *argv)
    assert (code, told in err) == (2, True), err


def test_the_installed_command_finds_the_verb(folder: Path) -> None:
    (folder / "shop.json").write_text(json.dumps(MCP))
    command = [str(Path(sys.executable).with_name("callgate")), "import", "shop.json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=True)
    assert done.stdout == OF_MCP


@pytest.mark.parametrize(
    ("hints", "keys"),
    [
        ({"readOnlyHint": True}, {"effect": "read"}),
        # the others mean nothing for a tool that is read-only
        ({"readOnlyHint": True, "destructiveHint": True, "idempotentHint": False}, {"effect": "read"}),
        ({"destructiveHint": True, "openWorldHint": True}, {"effect": "external"}),
        (
            {"readOnlyHint": False, "openWorldHint": True, "idempotentHint": False},
            {"effect": "external", "idempotent": False},
        ),
        ({"readOnlyHint": False}, {"effect": "external?"}),
        ({"readOnlyHint": False, "openWorldHint": False}, {"effect": "write?"}),
        ({"idempotentHint": True}, {"effect": "external?", "idempotent": True}),
        # nothing said of what it changes: by its name
        ({}, {"effect": "read?"}),
        ({"openWorldHint": True, "title": "T"}, {"effect": "read?"}),
        ({"readOnlyHint": "yes"}, {"effect": "read?"}),
    ],
)  # fmt: skip
def test_annotations_mean_what_their_specification_says(hints: dict[str, Any], keys: dict[str, Any]) -> None:
    text = json.dumps([{"name": "get_it", "inputSchema": {}, "annotations": hints}])
    (draft,) = read_tool_list(text.encode()).drafts
    guess_rest(draft)
    shown = {key: f"{value.value}?" if isinstance(value, Guess) else value for key, value in draft.keys.items()}
    assert shown == {**keys, "parameters": {}}


@pytest.mark.parametrize(
    ("name", "arguments", "effect"),
    [
        ("get_order", [], "read"),
        ("getOrder", [], "read"),
        ("mcp__shop__list-orders", [], "read"),
        ("order_lookup", [], "read"),
        ("order_status", [], "read"),
        ("order_create", [], "external"),
        ("order", ["sku"], "external"),
        ("book_flight", [], "external"),
        ("send_message", [], "external"),
        ("update_order", [], "external"),
        ("update_file", ["path"], "write"),
        ("delete_file", ["file_path"], "write"),
        ("delete_user", ["user_id"], "external"),
        ("edit_note", [], "write"),
        ("search_and_replace", ["path"], "write"),
        ("get_or_create", ["name"], "external"),
        ("query", ["sql"], "unknown"),
        ("query", ["text"], "read"),
        ("run_tests", [], "unknown"),
        ("bash", ["command"], "unknown"),
        ("browser_click", ["ref"], "ui"),
        ("think", ["thought"], "control"),
        ("transfer_to_human_agents", [], "control"),
        ("transfer_money", [], "external"),
        ("tracking_for_order", [], "unknown"),
        ("呼叫", [], "unknown"),
        ("?", [], "unknown"),
    ],
)
def test_a_name_suggests_an_effect(name: str, arguments: list[str], effect: str) -> None:
    assert effect_of(name, arguments).effect == effect


def test_polls_and_transfers_are_known_by_name() -> None:
    assert [name for name in ("wait", "get_job_status", "git_status", "waiter_list") if is_poll(name)] == [
        "wait", "get_job_status",
    ]  # fmt: skip
    names = ("handoff_to_sales", "transfer_to_human_agents", "transferToAgent", "transfer_money")
    assert [name for name in names if is_transfer(name)] == list(names[:3])


def test_the_manifest_guards_what_it_was_made_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "shop.json").write_text(json.dumps(MCP))
    run(capsys, "shop.json", "--output", "tools.yaml")
    policy = (
        "apiVersion: callgate/v1\nkind: GuardPolicy\nmetadata: {name: p}\nspec: {extends: [default], tools: [shop]}\n"
    )
    (folder / "policy.yaml").write_text(policy)
    verdict = Gate.load(folder).task("t").admit("get_order", {"order_id": "x"})
    assert (verdict.action, verdict.reasons) == ("refuse", ("invalid_arguments",))


names = st.one_of(
    st.sampled_from(["get_order", "send", "wait_for_job", "on", "~", "1", "null", "a: b", "{x}", "# no", "- x"]),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12).filter(
        lambda name: name.strip() == name and name.isprintable()
    ),
)  # fmt: skip
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
arguments = st.dictionaries(
    st.sampled_from(["path", "order_id", "q", "request_id", "tags", "limit", "", " x", "a\nb", "<<"]) | texts,
    st.fixed_dictionaries(
        {}, optional={
            "type": st.sampled_from(["string", "integer", "array"]), "default": values, "description": texts,
            "enum": st.lists(values, min_size=1, max_size=3), "x-extra": values,
        },
    ),
    max_size=4,
)  # fmt: skip
schemas = st.fixed_dictionaries(
    {"type": st.just("object")},
    optional={"properties": arguments, "description": texts, "$defs": st.dictionaries(texts, st.just({}), max_size=2)},
)
annotations = st.dictionaries(
    st.sampled_from(["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint", "title"]),
    st.booleans() | texts,
)
tools = st.fixed_dictionaries(
    {"name": names, "inputSchema": schemas},
    optional={"title": texts, "description": texts, "annotations": annotations},
)


@given(st.lists(tools, min_size=1, max_size=4, unique_by=lambda tool: tool["name"]))
@settings(max_examples=150)
def test_any_list_gives_a_manifest_that_loads_with_the_very_same_parameters(listed: list[dict[str, Any]]) -> None:
    drafts = read_tool_list(json.dumps({"tools": listed}).encode()).drafts
    leave_out_refused(drafts)
    for draft in drafts:
        guess_rest(draft)
    text = render("any", ["x.json"], drafts)
    composed = compose(Source("m.yaml", text))
    assert composed.diagnostics == ()
    (document,) = composed.documents
    found = document.root.data["spec"]["tools"]
    assert {name: tool["parameters"] for name, tool in found.items()} == {
        tool["name"]: tool["inputSchema"] for tool in listed
    }
    described = {tool["name"]: tool["description"] for tool in listed if tool.get("description", "").strip()}
    assert {name: tool["description"] for name, tool in found.items() if "description" in tool} == described
    assert found == {draft.name: draft.plain() for draft in drafts}
    loaded = load([])
    from callgate.policy.load import Document

    loaded.documents.append(Document("ToolManifest", "any", document))
    assert check(loaded) == []


@given(st.lists(tools, min_size=1, max_size=3, unique_by=lambda tool: tool["name"]))
@settings(max_examples=20)
def test_the_same_list_gives_the_same_text(listed: list[dict[str, Any]]) -> None:
    def text() -> str:
        drafts = read_tool_list(json.dumps({"tools": listed}).encode()).drafts
        for draft in drafts:
            guess_rest(draft)
        return render("any", ["x.json"], drafts)

    assert text() == text()


def test_a_guess_inside_a_map_is_marked_on_its_own_line() -> None:
    draft = Draft("f", {"identity": {"trim": True, "target": Guess(["id"], "said\nso")}})
    lines = render("m", ["x"], [draft]).splitlines()
    assert lines[-4:] == ["    f:", "      identity:", "        trim: true", "        target: [id]  # guess: said\\nso"]


def test_an_answer_without_its_json_rpc_envelope_is_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "shop.json").write_text(json.dumps({"result": MCP["result"]}))
    assert run(capsys, "shop.json", "--output", "m.yaml") == (0, "", "")
    assert (folder / "m.yaml").read_text() == OF_MCP
