"""Check the files of the repository: names that say nothing, Rust files that do not say what they are for."""

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

SAYS_NOTHING = {"utils", "util", "helpers", "helper", "common", "manager", "misc"}


def name_faults(files: Iterable[str]) -> list[str]:
    """Find files and folders whose name tells no subject.

    Args:
        files: paths relative to the root of the repository, with `/`.

    Returns:
        A sentence for each fault.
    """
    faults = []
    for file in files:
        path = PurePosixPath(file)
        for part in (*path.parts[:-1], path.name.partition(".")[0]):
            # `common_prefix` says what it is about, `prefix_common` and `common` do not.
            word = part.lower().replace("-", "_").rpartition("_")[2]
            if word in SAYS_NOTHING:
                faults.append(f"{file}: `{word}` says nothing: name the file after its one subject")
    return faults


def opens_with_a_sentence(rust: str) -> bool:
    """Tell whether the text of a Rust file begins with an inner documentation comment that says something."""
    first = rust.lstrip("\ufeff").partition("\n")[0]
    return first.startswith("//! ") and len(first.split()) > 2


def main() -> int:
    """Check all files that git knows or would add; print the faults and give the exit code."""
    root = Path(__file__).resolve().parent.parent
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    files = sorted({file for file in listed.split("\0") if file and (root / file).is_file()})
    faults = name_faults(files)
    faults += [
        f"{file}: open it with a `//!` sentence that says what it is for"
        for file in files
        if file.endswith(".rs") and not opens_with_a_sentence((root / file).read_text(encoding="utf-8"))
    ]
    print("\n".join(faults) or f"files: {len(files)} carry names that say something")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
