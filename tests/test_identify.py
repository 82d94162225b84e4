"""`CompiledPolicy.identify`: which calls are the same under a policy, and what it knows of them."""

import pytest

from callgate import ArgumentError, Gate

POLICY = """
apiVersion: callgate/v1
kind: GuardPolicy
metadata: {name: p}
spec: {extends: [default], tools: [t]}
---
apiVersion: callgate/v1
kind: ToolManifest
metadata: {name: t}
spec:
  tools:
    search: {effect: read, identity: {casefold: [q], ignore: [request_id], defaults: {limit: 10}}}
    bash:
      forms:
        - {when: 'args.command == "ls"', effect: read}
        - {when: 'args.command == "jobs"', effect: read, waiting: true}
"""


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Gate:
    folder = tmp_path_factory.mktemp("policy")
    (folder / "p.yaml").write_text(POLICY)
    return Gate.load(folder)


def test_calls_of_one_loose_identity_share_a_text(gate: Gate) -> None:
    plain = gate.policy.identify("search", {"q": "Bearing"})
    assert plain == gate.policy.identify("search", {"q": "bearing", "request_id": 7, "limit": 10.0})
    assert plain != gate.policy.identify("search", {"q": "bearing", "limit": 20})
    assert plain[1:] == ("read", False)


def test_the_form_of_a_call_says_what_it_does(gate: Gate) -> None:
    assert gate.policy.identify("bash", {"command": "ls"})[1:] == ("read", False)
    assert gate.policy.identify("bash", {"command": "jobs"})[1:] == ("read", True)
    assert gate.policy.identify("bash", {"command": "make"})[1:] == ("unknown", False)
    assert gate.policy.identify("unheard_of", {})[1:] == ("unknown", False)


def test_arguments_without_a_json_form_are_refused(gate: Gate) -> None:
    with pytest.raises(ArgumentError) as raised:
        gate.policy.identify("search", {"q": object()})
    assert raised.value.path == "arguments.q"
