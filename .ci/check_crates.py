"""Check that the Rust crates depend only downwards, that only `py` names PyO3, and that the pure crates deny panics."""

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

# Bottom first. A crate may depend on those before it.
ORDER = ("callgate-value", "callgate-cel", "callgate-core", "callgate-analysis", "callgate-py")
BORDER = "callgate-py"
PANIC_FREE = ("callgate-cel", "callgate-core", "callgate-analysis")
DENIED = ("unwrap_used", "expect_used", "panic", "indexing_slicing", "arithmetic_side_effects")


def direction_faults(metadata: Mapping[str, Any]) -> list[str]:
    """Find the dependencies that look up or sideways, and those on PyO3 outside the border.

    Args:
        metadata: what `cargo metadata --no-deps` prints, as data.

    Returns:
        A sentence for each fault, none where all is well. Dependencies of tests and builds count like others.
    """
    faults = []
    for package in metadata["packages"]:
        name = package["name"]
        if name not in ORDER:
            faults.append(f"crate `{name}` has no place in {' < '.join(ORDER)}: give it one in .ci/check_crates.py")
            continue
        below = ORDER[: ORDER.index(name)]
        for dependency in sorted({entry["name"] for entry in package["dependencies"]}):
            if dependency in ORDER and dependency not in below:
                faults.append(f"crate `{name}` depends on `{dependency}`, which is not below it")
            if dependency.startswith("pyo3") and name != BORDER:
                faults.append(f"crate `{name}` depends on `{dependency}`: only `{BORDER}` may name PyO3")
    return faults


def pyo3_mentions(crates: Iterable[Path]) -> list[str]:
    """Find the lines of Rust that name PyO3 in crates which must not know Python."""
    faults = []
    for crate in crates:
        for file in sorted(crate.rglob("*.rs")):
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
                if re.search(r"\bpyo3\b", line):
                    faults.append(f"{file}:{number}: only `{BORDER}` may name PyO3")
    return faults


def missing_denials(library: str) -> list[str]:
    """Name the panic lints that a crate's `lib.rs` does not deny outside its tests, in the order of `DENIED`."""
    head = "".join(re.findall(r"#!\[cfg_attr\(\s*not\(test\),\s*deny\((.*?)\)\s*\)\s*\]", library, flags=re.DOTALL))
    return [lint for lint in DENIED if not re.search(rf"\bclippy::{lint}\b", head)]


def main() -> int:
    """Check the workspace around this file; print the faults and give the exit code."""
    root = Path(__file__).resolve().parent.parent
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--locked"]
    metadata = json.loads(subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout)
    faults = direction_faults(metadata)
    folders = {package["name"]: Path(package["manifest_path"]).parent for package in metadata["packages"]}
    faults += pyo3_mentions(folder.relative_to(root) for name, folder in folders.items() if name != BORDER)
    for name in PANIC_FREE:
        library = folders[name] / "src" / "lib.rs"
        faults += [
            f"{library.relative_to(root)}: denies no `clippy::{lint}` outside tests; CONTRIBUTING.md has the line"
            for lint in missing_denials(library.read_text(encoding="utf-8"))
        ]
    print("\n".join(faults) or f"crates: {len(folders)} look down only")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
