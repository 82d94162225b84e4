"""The shipped packs are found from the package itself."""

from pathlib import Path

import pytest

from callgate.policy import packs


def test_the_packs_of_a_checkout_are_its_policies(root: Path) -> None:
    assert packs.packs_root().resolve() == root / "policies"


def test_an_installation_without_packs_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packs, "__file__", str(tmp_path / "policy" / "packs.py"))
    with pytest.raises(FileNotFoundError, match=r"packs that ship with callgate are missing at `.*`: install callgate"):
        packs.packs_root()
