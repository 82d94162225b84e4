"""What all tests share: the data that lies beside the checkout, and how Hypothesis runs."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

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
