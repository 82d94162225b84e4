"""Which policy tests run: by words, files and labels; and no more after the first that fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from callgate.cli.main import main
from callgate.testing import Selection, run_tests


def write(folder: Path, file: str, name: str, labels: str = "{}", notes: int = 0) -> None:
    (folder / file).write_text(
        f"apiVersion: callgate/v1\nkind: GuardTest\nmetadata: {{name: {name}, labels: {labels}}}\nspec:\n"
        "  policy: default\n  manifests: [{tools: {a: {effect: read}}}]\n"
        f"  steps: [{{tool: a, result: x}}]\n  expect: {{notes: {notes}}}\n"
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, "orders_test.yaml", "pay", "{area: orders, speed: slow}")
    write(tmp_path, "search_test.yaml", "look", "{area: search}")
    write(tmp_path, "waits_test.yaml", "order again")
    return tmp_path


@pytest.mark.parametrize(
    ("selection", "names"),
    [
        (Selection(), ["pay", "look", "order again"]),
        (Selection(words=["ORDER"]), ["pay", "order again"]),
        (Selection(words=["order", "again"]), ["order again"]),
        (Selection(files=["*search*"]), ["look"]),
        (Selection(files=["orders_test.yaml", "w*"]), ["pay", "order again"]),
        (Selection(labels=["area"]), ["pay", "look"]),
        (Selection(labels=["area=orders"]), ["pay"]),
        (Selection(labels=["area=orders", "speed=fast"]), []),
        (Selection(words=["order"], files=["waits*"]), ["order again"]),
    ],
)  # fmt: skip
def test_a_test_runs_if_it_is_all_that_is_said(selection: Selection, names: list[str], folder: Path) -> None:
    run = run_tests([folder], selection=selection)
    assert [result.name for result in run.results] == names
    assert run.deselected == 3 - len(names)


def test_the_folder_of_a_file_is_no_word_of_it(tmp_path: Path) -> None:
    (tmp_path / "orders").mkdir()
    write(tmp_path / "orders", "a_test.yaml", "pay")
    assert run_tests([tmp_path], selection=Selection(words=["orders"])).deselected == 1
    assert run_tests([tmp_path], selection=Selection(files=["*/orders/*"])).deselected == 0


def test_fail_fast_leaves_the_rest_out_and_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, "search_test.yaml", "look", notes=1)
    run = run_tests([folder], fail_fast=True)
    assert [(result.name, result.outcome) for result in run.results] == [("pay", "passed"), ("look", "failed")]
    assert (run.skipped, run.passed) == (1, False)
    assert main(["test", str(folder), "--fail-fast"]) == 1
    assert capsys.readouterr().out.endswith("1 failed, 1 passed, 1 left out after the first failure\n")


def test_the_command_takes_each_of_them(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test", str(folder), "-k", "order", "--file", "waits*"]) == 0
    assert capsys.readouterr().out == "ok     order again\n1 passed, 2 deselected\n"
    assert main(["test", str(folder), "--label", "area=none"]) == 3
