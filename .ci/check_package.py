"""Check what a user installs: from the folder and from the sdist, callgate comes with its packs and nothing else."""

import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if name not in {"VIRTUAL_ENV", "PYTHONPATH"}},
    # One target folder for all builds: the dependencies are compiled once.
    "CARGO_TARGET_DIR": os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target")),
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
}
ASK_FOR_FILES = """
import callgate, callgate._core
from callgate.policy.packs import packs_root
from callgate.policy.pages import pages_root
for root in (packs_root(), pages_root()):
    print("\\n".join(sorted(str(file.relative_to(root)) for file in root.rglob("*") if file.is_file())))
"""


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command away from the checkout and give what it printed; a failure ends the check with all it said."""
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"`{' '.join(map(str, command))}` ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def expected_files() -> list[str]:
    """List the files of the packs and the pages, as an installed callgate has to show them."""
    policies, docs = ROOT / "policies", ROOT / "docs"
    packs = sorted(str(file.relative_to(policies)) for file in policies.rglob("*") if file.is_file())
    pages = [*docs.glob("diagnostics/*.md"), *docs.glob("reasons/*.md")]
    return packs + sorted(str(file.relative_to(docs)) for file in pages)


def check_install(source: Path, room: Path) -> None:
    """Install `source` (a folder or a wheel) into a new environment in `room`, and look at its packs and pages."""
    environment = room / "venv"
    venv.create(environment, with_pip=True)
    python = environment / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", source, cwd=room)
    files = run(python, "-I", "-c", ASK_FOR_FILES, cwd=room).split("\n")
    if files[:-1] != expected_files():
        sys.exit(f"installed from `{source}`, callgate has the packs and pages {files}, and not {expected_files()}")
    if (ROOT / "python" / "callgate" / "cli" / "main.py").exists():
        run(environment / "bin" / "callgate", "--help", cwd=room)


def check_wheel(wheel: Path) -> None:
    """See that a wheel puts nothing beside `callgate` into site-packages, and that it is typed."""
    names = zipfile.ZipFile(wheel).namelist()
    beside = sorted({name.split("/")[0] for name in names if not name.startswith(("callgate/", "callgate-"))})
    if beside:
        sys.exit(f"`{wheel.name}` puts {beside} into site-packages beside `callgate`")
    if "callgate/py.typed" not in names:
        sys.exit(f"`{wheel.name}` lacks `callgate/py.typed`")


def main() -> None:
    """Check both ways of installing, one after the other."""
    with tempfile.TemporaryDirectory(prefix="callgate-package-") as name:
        for part in ("from-folder", "sdist", "from-sdist"):
            (Path(name) / part).mkdir()
        check_install(ROOT, Path(name) / "from-folder")
        print("package: `pip install .` brings callgate, its packs and its pages")

        built = Path(name) / "sdist"
        run(sys.executable, "-m", "maturin", "sdist", "--out", built, cwd=ROOT)
        [sdist] = built.glob("*.tar.gz")
        run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", built, sdist, cwd=built)
        [wheel] = built.glob("*.whl")
        check_wheel(wheel)
        check_install(wheel, Path(name) / "from-sdist")
        print("package: the sdist builds a wheel that brings the same")


if __name__ == "__main__":
    main()
