"""A pack with twenty-five faults of every family: one run finds them all, each at its exact place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from callgate.cli.main import main

DATA = Path(__file__).parent / "data"

# file, line, column, end column (from 1, the end exclusive; none is over several lines), worked out by hand
FAULTS = [
    # budgets
    ("CG407", "budgets.yaml", 9, 27, 28),
    ("CG409", "budgets.yaml", 10, 84, 85),
    # packaging: a name that is taken
    ("CG706", "budgets.yaml", 14, 18, 25),
    # YAML that ends the file
    ("CG101", "cut.yaml", 5, 12, 13),
    # CEL: syntax, then names, fields and types; one inside a text over several lines
    ("CG301", "expressions.yaml", 8, 57, 60),
    ("CG302", "expressions.yaml", 9, 51, 53),
    ("CG305", "expressions.yaml", 10, 38, 42),
    ("CG308", "expressions.yaml", 11, 44, 50),
    ("CG310", "expressions.yaml", 16, 11, 22),
    ("CG311", "expressions.yaml", 18, 40, 47),
    # the form
    ("CG204", "form.yaml", 6, 9, 15),
    ("CG203", "form.yaml", 7, 20, 23),
    ("CG205", "form.yaml", 7, 33, 35),
    ("CG206", "form.yaml", 8, 16, 26),
    ("CG201", "form.yaml", 10, 33, 44),
    # the graph of substitutes
    ("CG431", "graph.yaml", 13, 46, 61),
    # the sense
    ("CG401", "sense.yaml", 10, 30, 31),
    ("CG404", "sense.yaml", 13, 12, 17),
    ("CG414", "sense.yaml", 14, 82, 88),
    # tests
    ("CG704", "shop_test.yaml", 5, 11, 21),
    ("CG710", "shop_test.yaml", 13, 10, 19),
    # YAML that is stepped over
    ("CG102", "text.yaml", 7, 3, 7),
    ("CG108", "text.yaml", 10, 5, 7),
    ("CG103", "text.yaml", 11, 5, 6),
    ("CG104", "text.yaml", 12, 12, 18),
]


def test_one_run_finds_all_faults_each_at_its_place(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(DATA)
    assert main(["check", "--format", "json", "faulty"]) == 1
    report = json.loads(capsys.readouterr().out)
    found = [
        (each["code"], each["file"].removeprefix("faulty/"), span["line"], span["column"], span["end_column"])
        for each in report["diagnostics"]
        if (span := each["span"])["line"] == span["end_line"]
    ]
    assert found == FAULTS
    assert (len(found), len({code for code, *_ in found})) == (25, 25)
    assert (report["errors"], report["warnings"], report["files"]) == (25, 0, 9)


def test_the_whole_text_is_as_it_was_read_and_found_good(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # after a change that is meant: `cd tests/data && callgate check faulty > faulty.txt`, and read the difference
    monkeypatch.chdir(DATA)
    main(["check", "faulty"])
    assert capsys.readouterr().out == (DATA / "faulty.txt").read_text(encoding="utf-8")
