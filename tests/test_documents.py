"""The code blocks of README and the documents do what their pages say, and the runner notices when they do not."""

from pathlib import Path

import pytest

from documents import DocumentFault, blocks, run_document

ROOT = Path(__file__).resolve().parent.parent


def documents() -> list[Path]:
    """List the documents with blocks that run."""
    everything = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("policies/**/*.md")]
    return sorted(
        document for document in everything if any(block.runs for block in blocks(document.read_text(encoding="utf-8")))
    )


@pytest.mark.parametrize("document", documents(), ids=lambda document: str(document.relative_to(ROOT)))
def test_a_document_does_what_it_says(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_document(document, ROOT, tmp_path)


def test_the_readme_is_among_the_documents_that_run() -> None:
    assert ROOT / "README.md" in documents()


def run(markdown: str, room: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a document of the given text in an empty folder, with another as its root."""
    (room / "root").mkdir()
    (room / "room").mkdir()
    document = room / "root" / "page.md"
    document.write_text(markdown, encoding="utf-8")
    monkeypatch.chdir(room / "room")
    run_document(document, room / "root", room / "room")


@pytest.mark.parametrize(
    "markdown",
    [
        "```python\nx = 1\n```\ntext\n```python\nassert x == 1\n```\n",
        "```python\n>>> y = 2\n>>> y\n2\n```\n```python\nassert y == 2\n```\n",
        '```yaml title="some/file.yaml"\na: 1\n```\n```console\n$ cat some/file.yaml\na: 1\n```\n',
        "```console\n$ printf 'a\\nb\\nc\\n'\na\n...\nc\n```\n",
        "```console\n$ echo took 0.25 s\ntook ... s\n```\n",
        "```console\n$ x=5\n$ echo $x\n5\n$ echo one \\\n  two\none two\n```\n",
        "```console\n$ echo found; false\nfound\n$ echo $?\n1\n```\n",
        "```sh\nexit 3\n```\n",
        "1. indented\n   ```python\n   z = 3\n   ```\n",
    ],
)
def test_a_page_that_keeps_its_word_passes(markdown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(markdown, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("markdown", "fault"),
    [
        ("text\n```python\nassert 1 == 2\n```\n", "page.md:3: the block raises AssertionError"),
        ("```python\n>>> 1 + 1\n3\n```\n", "page.md:2: "),
        ("```console\n$ echo a\nb\n```\n", "page.md:2: `echo a` prints"),
        ("```console\n$ echo a\n```\n", "page.md:2: `echo a` prints"),
        ("```console\n$ true\n$ false\n```\n", "page.md:3: `false` ends with 1"),
        ("```console\n$ echo a; (exit 2)\na\n```\n", "page.md:2: `echo a; (exit 2)` ends with 2"),
        ("```console\n$ exit 0\n$ true\n```\n", "page.md:2: the shell ended before the last command"),
        ("```console\necho a\n```\n", "line 2: a console block begins with a `$ ` line"),
    ],
)
def test_a_page_that_breaks_its_word_is_found_with_its_line(
    markdown: str, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DocumentFault) as found:
        run(markdown, tmp_path, monkeypatch)
    assert str(found.value).startswith(fault)
