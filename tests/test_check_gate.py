"""E09 at the door of Python: what `callgate check` calls an error, `Gate.load` refuses."""

from pathlib import Path

import pytest

from callgate import Gate, PolicyError

FULL = (
    "apiVersion: callgate/v1\nkind: GuardPolicy\nmetadata: {name: p}\n"
    "spec:\n  budgets: {steps: 9, tokens: 9}\n  time: {task: 1m}\n  detectors:\n    window: 5\n"
)


@pytest.mark.parametrize(
    ("detectors", "code", "place"),
    [
        ("    exakt_repeat: {}\n", "CG201", (9, 5)),
        ("    same_error: {note_after: 10, refuse_after: 4}\n", "CG401", (9, 30)),
        ("    frequency: {refuse_after: 7}\n", "CG402", (9, 31)),
    ],
)
def test_a_policy_that_cannot_work_is_not_loaded(
    detectors: str, code: str, place: tuple[int, int], tmp_path: Path
) -> None:
    (tmp_path / "p.yaml").write_text(FULL + detectors)
    with pytest.raises(PolicyError) as caught:
        Gate.load(tmp_path)
    (found,) = caught.value.diagnostics
    assert found.span is not None
    assert (found.code, found.span[:2]) == (code, place)


def test_a_policy_in_order_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(FULL)
    assert (Gate.load(tmp_path).policy.name, Gate.load(tmp_path).warnings) == ("p", ())
