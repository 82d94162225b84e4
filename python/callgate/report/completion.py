"""Shell completion: what a command line takes, written as a script for bash, zsh or fish."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

PROGRAM: Final = "callgate"


class Argument(NamedTuple):
    """An option, or what stands by itself (no `flags`): the words that fit, and whether files do too.

    `takes_value` is false for switches; `shown` is the name of the value, `says` a line about it.
    """

    flags: Sequence[str]
    takes_value: bool
    words: Sequence[str]
    files: bool
    shown: str
    says: str


class Verb(NamedTuple):
    """A verb, or a verb below one: its arguments, and the verbs below it."""

    name: str
    says: str
    arguments: Sequence[Argument]
    verbs: Sequence[Verb] = ()

    @property
    def options(self) -> list[Argument]:
        """What begins with a dash."""
        return [each for each in self.arguments if each.flags]

    @property
    def bare(self) -> list[Argument]:
        """What stands by itself."""
        return [each for each in self.arguments if not each.flags]


def render(verbs: Sequence[Verb], shell: str) -> str:
    """The script for a shell of `SHELLS`, ending with a line break."""
    return "".join(line + "\n" for line in SHELLS[shell](verbs))


def _leaves(verbs: Sequence[Verb]) -> Iterator[tuple[str, str, Verb]]:
    """Each verb that takes arguments, with its name and the name below it, if there is one."""
    for verb in verbs:
        yield from ((verb.name, below.name, below) for below in verb.verbs) if verb.verbs else [(verb.name, "", verb)]


def _bash(verbs: Sequence[Verb]) -> Iterator[str]:
    yield f"# bash completion of {PROGRAM}; load it with: source <({PROGRAM} completion bash)"
    yield f"_{PROGRAM}() {{"
    yield from (
        '    local current="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD - 1]}" words="" files="" line',
        "    # bash takes `--format=json` for three words",
        '    if [[ $before == "=" ]]; then before="${COMP_WORDS[COMP_CWORD - 2]}"; fi',
        '    if [[ $current == "=" ]]; then current=""; fi',
        "    COMPREPLY=()",
        "    if ((COMP_CWORD == 1)); then",
        f"        words={_quoted(' '.join(_names(verbs)))}",
        "    else",
        '        case "${COMP_WORDS[1]}" in',
    )
    yield f"        help) words={_quoted(' '.join(verb.name for verb in verbs))} ;;"
    for verb in verbs:
        yield f"        {verb.name})"
        if verb.verbs:
            yield "            if ((COMP_CWORD == 2)); then"
            yield f"                words={_quoted(' '.join(['-h', '--help', *(each.name for each in verb.verbs)]))}"
            yield "            else"
            yield '                case "${COMP_WORDS[2]}" in'
            for below in verb.verbs:
                yield f"                {below.name})"
                yield from _bash_arguments(below, " " * 20)
                yield "                    ;;"
            yield "                esac"
            yield "            fi"
        else:
            yield from _bash_arguments(verb, " " * 12)
        yield "            ;;"
    yield from (
        "        esac",
        "    fi",
        "    while IFS= read -r line; do",
        '        [[ -n $line ]] && COMPREPLY+=("$line")',
        '    done < <(compgen -W "$words" -- "$current")',
        "    if [[ -n $files && $current != -* ]]; then",
        "        compopt -o filenames 2>/dev/null",
        "        while IFS= read -r line; do",
        '            COMPREPLY+=("$line")',
        '        done < <(compgen -f -- "$current")',
        "    fi",
        "}",
        f"complete -F _{PROGRAM} {PROGRAM}",
    )


def _bash_arguments(verb: Verb, indent: str) -> Iterator[str]:
    yield f'{indent}case "$before" in'
    for option in verb.options:
        if option.takes_value:
            files = " files=1" if option.files else ""
            yield f"{indent}{' | '.join(option.flags)}) words={_quoted(' '.join(option.words))}{files} ;;"
    flags = [flag for option in verb.options for flag in option.flags]
    bare = [word for each in verb.bare for word in each.words]
    files = " files=1" if any(each.files for each in verb.bare) else ""
    yield f"{indent}*)"
    yield f"{indent}    words={_quoted(' '.join(bare))}{files}"
    yield f"{indent}    if [[ $current == -* ]]; then words={_quoted(' '.join(flags))}; fi"
    yield f"{indent}    ;;"
    yield f"{indent}esac"


def _zsh(verbs: Sequence[Verb]) -> Iterator[str]:
    yield f"#compdef {PROGRAM}"
    yield f"# zsh completion of {PROGRAM}; load it with: source <({PROGRAM} completion zsh)"
    yield f"_{PROGRAM}() {{"
    yield "    local -a verbs"
    yield from _zsh_verbs([*verbs, Verb("help", "tell of a verb", ())], "    ", 2)
    yield '    case "${words[2]}" in'
    yield f"    help) _values verb {' '.join(verb.name for verb in verbs)} ;;"
    for verb in verbs:
        yield f"    {verb.name})"
        if verb.verbs:
            yield from _zsh_verbs(verb.verbs, "        ", 3)
            yield '        case "${words[3]}" in'
            for below in verb.verbs:
                yield f"        {below.name})"
                yield from _zsh_arguments(below, " " * 12, 2)
                yield "            ;;"
            yield "        esac"
        else:
            yield from _zsh_arguments(verb, " " * 8, 1)
        yield "        ;;"
    yield "    esac"
    yield "}"
    yield f"compdef _{PROGRAM} {PROGRAM}"


def _zsh_verbs(verbs: Sequence[Verb], indent: str, position: int) -> Iterator[str]:
    yield f"{indent}if ((CURRENT == {position})); then"
    yield f"{indent}    verbs=({' '.join(_quoted(f'{verb.name}:{verb.says}') for verb in verbs)})"
    yield f"{indent}    _describe verb verbs"
    yield f"{indent}    return"
    yield f"{indent}fi"


def _zsh_arguments(verb: Verb, indent: str, shift: int) -> Iterator[str]:
    yield f"{indent}shift {shift} words; ((CURRENT -= {shift}))"
    specs = []
    for option in verb.options:
        value = f":{_zsh_plain(option.shown)}:{_zsh_value(option)}" if option.takes_value else ""
        specs += [_quoted(f"{flag}[{_zsh_plain(option.says)}]{value}") for flag in option.flags]
    for each in verb.bare:
        specs.append(_quoted(f"*:{_zsh_plain(each.shown)}:{_zsh_value(each)}"))
    yield f"{indent}_arguments {' '.join(specs)}"


def _zsh_value(argument: Argument) -> str:
    words = f"({' '.join(argument.words)})"
    if argument.words and argument.files:
        return f'_alternative "words:word:{words}" "files:file:_files"'
    return words if argument.words else "_files" if argument.files else " "


def _zsh_plain(text: str) -> str:
    return "".join("\\" + char if char in ":[]" else char for char in text)


def _fish(verbs: Sequence[Verb]) -> Iterator[str]:
    yield f"# fish completion of {PROGRAM}; load it with: {PROGRAM} completion fish | source"
    yield f"complete -c {PROGRAM} -f"
    for verb in [*verbs, Verb("help", "tell of a verb", ())]:
        yield f"complete -c {PROGRAM} -n __fish_use_subcommand -a {verb.name} -d {_quoted(verb.says)}"
    names = " ".join(verb.name for verb in verbs)
    yield f"complete -c {PROGRAM} -n '__fish_seen_subcommand_from help' -a {_quoted(names)}"
    for verb in verbs:
        names = " ".join(below.name for below in verb.verbs)
        for below in verb.verbs:
            when = f"__fish_seen_subcommand_from {verb.name}; and not __fish_seen_subcommand_from {names}"
            yield f"complete -c {PROGRAM} -n {_quoted(when)} -a {below.name} -d {_quoted(below.says)}"
    for name, below_name, verb in _leaves(verbs):
        when = f"__fish_seen_subcommand_from {name}"
        when += f"; and __fish_seen_subcommand_from {below_name}" if below_name else ""
        for option in verb.options:
            flags = " ".join(f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags)
            yield f"complete -c {PROGRAM} -n {_quoted(when)} {flags} -d {_quoted(option.says)}{_fish_value(option)}"
        for each in verb.bare:
            yield f"complete -c {PROGRAM} -n {_quoted(when)}{_fish_value(each)}"


def _fish_value(argument: Argument) -> str:
    if not argument.takes_value:
        return ""
    files = " -F" if argument.files else " -f"
    required = " -r" if argument.flags else ""
    return required + files + (f" -a {_quoted(' '.join(argument.words))}" if argument.words else "")


def _names(verbs: Sequence[Verb]) -> list[str]:
    return [*(verb.name for verb in verbs), "help", "--help", "--version"]


def _quoted(text: str) -> str:
    """A text in single quotes, as bash and zsh read them; fish reads a backslash in them, which none has."""
    return "'" + text.replace("\\", "").replace("'", "’") + "'"


SHELLS: Final[Mapping[str, Callable[[Sequence[Verb]], Iterator[str]]]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
"""The shells that there are scripts for."""
