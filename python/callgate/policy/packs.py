"""Where the packs that ship with callgate lie."""

from pathlib import Path

__all__ = ["packs_root"]


def packs_root() -> Path:
    """Give the folder of the shipped packs: one folder a pack, named as `extends:` and `--policy` name it.

    The same call works in a checkout, in an editable install and in an install from a wheel: the package holds
    the folder `packs`, which in the repository is a link to the top-level `policies`.

    Returns:
        An existing folder, readable with the methods of `pathlib.Path`.

    Raises:
        FileNotFoundError: the installation lost its packs.

    Example:
        >>> packs_root().name
        'packs'
    """
    root = Path(__file__).parent.parent / "packs"
    if not root.is_dir():
        raise FileNotFoundError(f"the packs that ship with callgate are missing at `{root}`: install callgate again")
    return root
