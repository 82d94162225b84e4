"""`callgate.yaml` at the root of a project: paths, lint levels, tool-count limits, language. It changes no decision."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from .diagnostics import Diagnostic, did_you_mean
from .faults import Found, located
from .pages import diagnostic_codes
from .positions import Positions

CONFIGURATION: Final = "callgate.yaml"

Language = Literal["en", "zh"]
Level = Literal["off", "note", "warning", "error"]
IN_MEMORY: Final = "memory"
"""The store that is gone with its process."""
LEVELS: Final = ("off", "note", "warning", "error")
LANGUAGES: Final = ("en", "zh")


class ToolLimits(NamedTuple):
    """From when on `check` speaks about the tools that a policy puts in front of a model.

    More than `few` tools are told, more than `many` are a warning, and from `too_many` on a stronger one. `share` is of
    `context_window`, in tokens; `definition_tokens` is for one definition; `unused_days` is how far `callgate tools
    unused` looks back.
    """

    few: int = 15
    many: int = 30
    too_many: int = 50
    context_window: int = 200_000
    share: float = 0.1
    definition_tokens: int = 1_000
    unused_days: int = 30


class Settings(NamedTuple):
    """What a project says in its `callgate.yaml`; without one, the defaults.

    `file` is the file as diagnostics show it. `paths`, `traces` and `store` are as written, relative to the file's
    folder.
    """

    file: str | None = None
    paths: tuple[str, ...] = ()
    traces: tuple[str, ...] = ()
    lints: Mapping[str, Level] = {}
    tools: ToolLimits = ToolLimits()
    language: Language = "en"
    store: str | None = None

    def store_path(self) -> str | None:
        """The store of the project as seen from the working directory; `memory` stays what it is."""
        if self.store is None or self.store == IN_MEMORY:
            return self.store
        return self.beside([self.store])[0]

    def beside(self, names: Iterable[str]) -> list[str]:
        """Paths of the settings as seen from the working directory."""
        folder = Path(self.file).parent if self.file is not None else Path()
        return [(folder / name).as_posix() for name in names]


def find_settings(paths: Iterable[Path]) -> Path | None:
    """The `callgate.yaml` that goes for some files and folders.

    It is looked for in the folder of the first path, then in those above it, up to the root of its repository or file
    system; then in the same way from the next path.
    """
    for path in paths:
        folder = path if path.is_dir() else path.parent
        for here in (folder, *folder.absolute().parents):
            if (here / CONFIGURATION).is_file():
                return here / CONFIGURATION
            if (here / ".git").exists():
                break
    return None


def settings_of(positions: Positions) -> tuple[Settings, list[Diagnostic]]:
    """The settings that a document says, and everything that is wrong with it; what is wrong counts as left out.

    Example:
        >>> from callgate.policy.compose import compose
        >>> from callgate.policy.source import Source
        >>> (document,) = compose(Source("callgate.yaml", "prompt: {language: zh}")).documents
        >>> settings_of(document)[0].language
        'zh'
    """
    reader = _Reader()
    root = reader.block(positions.data, (), _KEYS) if positions.data is not None else {}
    tools, prompt = root.pop("tools", {}), root.pop("prompt", {})
    limits = ToolLimits(**tools)
    reader.in_order(limits)
    settings = Settings(positions.source.file, tools=limits, language=prompt.get("language", "en"), **root)
    return settings, located(positions, reader.found)


def settings_here() -> Settings:
    """The settings of the working directory, for commands that were given no path; their faults are left to `check`."""
    from .reading import read
    from .source import decode

    file = find_settings([Path()])
    if file is None:
        return Settings()
    data = file.read_bytes()
    source, undecodable = decode(file.as_posix(), data, len(data))
    documents = read(source).documents if undecodable is None else ()
    return settings_of(documents[0])[0] if documents else Settings()


Steps = tuple[str | int, ...]


class _Reader:
    """Reads values and collects what is wrong with them. None stands for what could not be read."""

    def __init__(self) -> None:
        self.found: list[Found] = []

    def block(self, value: Any, steps: Steps, keys: Mapping[str, _Read]) -> dict[str, Any]:
        if not isinstance(value, dict):
            self.fault("CG203", "a map is wanted", steps)
            return {}
        taken: dict[str, Any] = {}
        for key, inner in value.items():
            if key not in keys:
                where = f"in `{steps[-1]}`" if steps else f"in `{CONFIGURATION}`"
                hint = did_you_mean(key, keys) or "there are " + ", ".join(f"`{known}`" for known in keys)
                self.found.append(Found("CG201", "error", f"unknown key `{key}` {where}", (*steps, key), "key", hint))
                continue
            read = keys[key](self, inner, (*steps, key))
            if read is not None:
                taken[key] = read
        return taken

    def texts(self, value: Any, steps: Steps) -> Any:
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        return self.fault("CG203", "a list of paths is wanted", steps)

    def text(self, value: Any, steps: Steps) -> Any:
        if isinstance(value, str) and value.strip():
            return value
        return self.fault("CG203", "the path of a file is wanted, or `memory`", steps)

    def count(self, value: Any, steps: Steps) -> Any:
        if isinstance(value, bool) or not isinstance(value, int):
            return self.fault("CG203", "a whole number is wanted", steps)
        return value if value >= 1 else self.fault("CG205", "at least 1 is wanted", steps)

    def share(self, value: Any, steps: Steps) -> Any:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return self.fault("CG203", "a share is wanted, such as 0.1", steps)
        return float(value) if 0 < value <= 1 else self.fault("CG205", "a share lies above 0 and is at most 1", steps)

    def levels(self, value: Any, steps: Steps) -> Any:
        if not isinstance(value, dict):
            return self.fault("CG203", "a map from codes to levels is wanted", steps)
        taken: dict[str, Level] = {}
        for code, level in value.items():
            if not re.fullmatch(r"CG\d{3}", code):
                hint = "codes look like `CG801`"
                self.found.append(Found("CG204", "error", f"`{code}` is no code", (*steps, code), "key", hint))
            elif code not in diagnostic_codes():
                hint = did_you_mean(code, diagnostic_codes()) or "`callgate code` lists all codes"
                self.found.append(Found("CG204", "error", f"there is no code `{code}`", (*steps, code), "key", hint))
            elif self.word(level, (*steps, code), LEVELS) is not None:
                taken[code] = level
        return taken

    def word(self, value: Any, steps: Steps, words: tuple[str, ...]) -> Any:
        if value in words:
            return str(value)
        known = "there are " + ", ".join(f"`{word}`" for word in words)
        hint = (did_you_mean(value, words) if isinstance(value, str) else None) or known
        return self.fault("CG204", f"`{value}` is none of the words that `{steps[-1]}` takes", steps, hint)

    def in_order(self, limits: ToolLimits) -> None:
        if not limits.few <= limits.many <= limits.too_many:
            message = f"`few` {limits.few}, `many` {limits.many}, `too_many` {limits.too_many} do not rise"
            self.fault("CG416", message, ("tools",))

    def fault(self, code: str, message: str, steps: Steps, hint: str | None = None) -> Any:
        """Note what is wrong, and stand for the value that could not be read."""
        self.found.append(Found(code, "error", message, steps, "value", hint))
        return None


_Read = Callable[[_Reader, Any, Steps], Any]

_TOOLS: Final[dict[str, _Read]] = {
    "few": _Reader.count,
    "many": _Reader.count,
    "too_many": _Reader.count,
    "context_window": _Reader.count,
    "share": _Reader.share,
    "definition_tokens": _Reader.count,
    "unused_days": _Reader.count,
}
_PROMPT: Final[dict[str, _Read]] = {"language": lambda reader, value, steps: reader.word(value, steps, LANGUAGES)}
_KEYS: Final[dict[str, _Read]] = {
    "store": _Reader.text,
    "paths": _Reader.texts,
    "traces": _Reader.texts,
    "lints": _Reader.levels,
    "tools": lambda reader, value, steps: reader.block(value, steps, _TOOLS),
    "prompt": lambda reader, value, steps: reader.block(value, steps, _PROMPT),
}
"""What may stand in the file. A new key is a line here, and a field of `Settings`."""
