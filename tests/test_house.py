"""The rules of the house bite: each is shown a violation and has to find it."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

TOOLS = Path(sys.executable).parent


def check(root: Path, name: str) -> ModuleType:
    """Import one of the checks of `.ci`, which is no package."""
    spec = importlib.util.spec_from_file_location(name, root / ".ci" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write(folder: Path, files: dict[str, str]) -> None:
    """Write files by relative path."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def run(*command: str | Path, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a tool, its two outputs as one."""
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, "NO_COLOR": "1", **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


class TestLayersOfThePackage:
    """import-linter with the contract of pyproject.toml, on a package made for the occasion."""

    def lint(self, root: Path, room: Path, imports: dict[str, str]) -> subprocess.CompletedProcess[str]:
        shutil.copy(root / "pyproject.toml", room)
        write(room, {"python/callgate/__init__.py": '"""A package."""\n'})
        write(room, {f"python/callgate/{module}/__init__.py": line + "\n" for module, line in imports.items()})
        return run(TOOLS / "lint-imports", "--no-cache", cwd=room, PYTHONPATH=str(room / "python"))

    def test_an_import_downwards_is_kept(self, root: Path, tmp_path: Path) -> None:
        done = self.lint(root, tmp_path, {"cli": "import callgate.policy", "policy": ""})
        assert (done.returncode, "1 kept, 0 broken" in done.stdout) == (0, True), done.stdout

    @pytest.mark.parametrize(
        ("imports", "told"),
        [
            ({"cli": "", "policy": "import callgate.cli"}, "callgate.policy is not allowed to import callgate.cli"),
            ({"runtime": "", "stores": "import callgate.runtime"}, "not allowed to import callgate.runtime"),
            ({"stores": "import callgate.policy", "policy": ""}, "not allowed to import callgate.policy"),
            ({"report": "import callgate.adapters", "adapters": ""}, "not allowed to import callgate.adapters"),
            ({"policy": "", "extra": ""}, "extra"),
        ],
        ids=["upwards", "one up", "siblings", "siblings above", "a module without a layer"],
    )
    def test_any_other_import_breaks(self, root: Path, tmp_path: Path, imports: dict[str, str], told: str) -> None:
        done = self.lint(root, tmp_path, imports)
        assert (done.returncode, told in done.stdout) == (1, True), done.stdout


class TestOrderOfTheCrates:
    """`.ci/check_crates.py`, on metadata as `cargo metadata --no-deps` prints it."""

    def metadata(self, **dependencies: list[str]) -> dict[str, list[dict[str, object]]]:
        return {
            "packages": [
                {"name": f"callgate-{name}", "dependencies": [{"name": dependency} for dependency in depends]}
                for name, depends in dependencies.items()
            ]
        }

    @pytest.mark.parametrize(
        ("dependencies", "faults"),
        [
            (
                {
                    "value": ["serde"],
                    "cel": ["callgate-value"],
                    "core": ["callgate-cel"],
                    "py": ["callgate-core", "pyo3"],
                },
                [],
            ),
            (
                {"value": ["callgate-core"]},
                ["crate `callgate-value` depends on `callgate-core`, which is not below it"],
            ),
            ({"cel": ["callgate-cel"]}, ["crate `callgate-cel` depends on `callgate-cel`, which is not below it"]),
            ({"core": ["pyo3-ffi"]}, ["crate `callgate-core` depends on `pyo3-ffi`: only `callgate-py` may name PyO3"]),
        ],
        ids=["down", "up", "itself", "python in the core"],
    )
    def test_a_crate_depends_on_lower_ones_only(
        self, root: Path, dependencies: dict[str, list[str]], faults: list[str]
    ) -> None:
        assert check(root, "check_crates").direction_faults(self.metadata(**dependencies)) == faults

    def test_a_new_crate_has_to_be_given_a_place(self, root: Path) -> None:
        [fault] = check(root, "check_crates").direction_faults(self.metadata(extra=[]))
        assert fault.startswith("crate `callgate-extra` has no place in callgate-value < callgate-cel < ")

    def test_only_the_border_names_pyo3(self, root: Path, tmp_path: Path) -> None:
        write(tmp_path, {"core/src/a.rs": "//! Text.\nuse std::fmt;\n", "core/src/b.rs": "//! Text.\nuse pyo3::Py;\n"})
        found = check(root, "check_crates").pyo3_mentions([tmp_path / "core"])
        assert found == [f"{tmp_path}/core/src/b.rs:2: only `callgate-py` may name PyO3"]

    def test_a_pure_crate_that_denies_too_little_is_told_what_is_missing(self, root: Path) -> None:
        library = (
            "//! Text.\n#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing))]\n"
        )
        missing = check(root, "check_crates").missing_denials(library)
        assert missing == ["expect_used", "arithmetic_side_effects"]


class TestFiles:
    """`.ci/check_files.py`."""

    def test_a_name_that_says_nothing_is_found_wherever_it_stands(self, root: Path) -> None:
        files = ["core/src/common_prefix.rs", "python/callgate/utils.py", "rust/common/src/lib.rs", "a/test_helpers.py"]
        assert check(root, "check_files").name_faults(files) == [
            "python/callgate/utils.py: `utils` says nothing: name the file after its one subject",
            "rust/common/src/lib.rs: `common` says nothing: name the file after its one subject",
            "a/test_helpers.py: `helpers` says nothing: name the file after its one subject",
        ]

    @pytest.mark.parametrize(
        ("rust", "good"),
        [
            ("//! Cycles in a stream of symbols.\nuse x;\n", True),
            ("use x;\n", False),
            ("//! Cycles\n", False),
            ("", False),
            ("// Cycles in a stream.\n", False),
        ],
    )
    def test_a_rust_file_opens_with_a_sentence(self, root: Path, rust: str, good: bool) -> None:
        assert check(root, "check_files").opens_with_a_sentence(rust) is good


class TestTools:
    """The configuration of ruff and mypy, on files with one fault each."""

    def test_ruff_finds_an_undocumented_public_function(self, root: Path, tmp_path: Path) -> None:
        write(tmp_path, {"python/callgate/a.py": '"""A module."""\n\n\ndef act() -> None:\n    print("x")\n'})
        shutil.copy(root / "pyproject.toml", tmp_path)
        done = run(TOOLS / "ruff", "check", "--no-cache", "--output-format=concise", ".", cwd=tmp_path)
        found = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("python/callgate/a.py:")]
        assert found == ["D103", "T201"]

    def test_mypy_is_strict(self, root: Path, tmp_path: Path) -> None:
        write(tmp_path, {"a.py": "def act(x):\n    return x\n"})
        config = root / "pyproject.toml"
        done = run(TOOLS / "mypy", "--config-file", config, "--cache-dir", os.devnull, "a.py", cwd=tmp_path)
        assert "[no-untyped-def]" in done.stdout, done.stdout

    def test_stubtest_holds_the_stub_against_the_compiled_module(self, root: Path, tmp_path: Path) -> None:
        package = root / "python" / "callgate"
        write(tmp_path, {"callgate/__init__.py": "", "callgate/py.typed": ""})
        write(tmp_path, {"callgate/_core.pyi": "def nothing_of_this_name() -> None: ..."})
        for compiled in package.glob("_core*.so"):
            (tmp_path / "callgate" / compiled.name).symlink_to(compiled)
        done = run(TOOLS / "stubtest", "callgate._core", cwd=tmp_path, PYTHONPATH=".", MYPYPATH=".")
        told = "error: callgate._core.nothing_of_this_name is not present at runtime"
        assert (done.returncode, told in done.stdout) == (1, True), done.stdout


LIBRARY = """//! A crate whose only purpose is to break a rule.
{head}
/// Breaks a rule.
pub fn act(list: &[u8], one: Option<u8>, two: u8) -> u8 {{
    let _ = (list, one, two);
    {body}
}}

#[cfg(test)]
mod tests {{
    #[test]
    fn may_do_as_it_likes() {{
        let list: &[u8] = &[1, 2];
        assert_eq!(list[0] + 2, *list.iter().max().unwrap() + 1);
    }}
}}
"""
MANIFEST = """[package]
name = "bites"
version = "0.0.0"
edition = "2021"

[workspace]

[lints.clippy]
disallowed_methods = "deny"
"""


def test_clippy_denies_in_core_whatever_can_panic(root: Path, tmp_path: Path) -> None:
    if run("cargo", "clippy", "--version", cwd=tmp_path).returncode:
        assert not os.environ.get("CI"), "clippy has to be there in CI"
        pytest.skip("clippy is not installed")
    library = (root / "rust" / "core" / "src" / "lib.rs").read_text(encoding="utf-8")
    head = library[library.index("#![cfg_attr(") :].partition("]")[0] + "]"
    breaks = {
        "unwrap_used": "one.unwrap()",
        "expect_used": 'one.expect("one")',
        "panic": 'panic!("no")',
        "indexing_slicing": "list[usize::from(two)]",
        "arithmetic_side_effects": "two + 1",
        "disallowed_methods": "u8::from(std::time::SystemTime::now() > std::time::UNIX_EPOCH)",
    }
    shutil.copy(root / "clippy.toml", tmp_path)
    write(tmp_path, {"Cargo.toml": MANIFEST})
    found = {}
    for lint, body in breaks.items():
        write(tmp_path, {"src/lib.rs": LIBRARY.format(head=head, body=body)})
        done = run("cargo", "clippy", "--offline", "--all-targets", "--quiet", cwd=tmp_path, CARGO_TARGET_DIR="target")
        told = {line.rpartition("#")[2] for line in done.stdout.splitlines() if "index.html#" in line}
        found[lint] = [done.returncode != 0, *sorted(told)]
    assert found == {lint: [True, lint] for lint in breaks}


def test_importing_callgate_brings_nothing_heavy() -> None:
    heavy = ["asyncio", "yaml", "numpy", "pyarrow", "pydantic", "argparse", "sqlite3", "http", "unittest", "inspect"]
    code = f"import sys; import callgate; print(*(name for name in {heavy} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "\n", "")
