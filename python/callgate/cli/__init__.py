"""The command line: one file per verb, each with `add_arguments(parser)` and `run(arguments) -> int`."""


class UsageError(Exception):
    """The command cannot be carried out as it was given; its text says why. Ends with exit code 2.

    Args:
        lines: what is said, a line each; a line break inside one is part of a name and printed as an escape.
    """

    def __init__(self, *lines: object) -> None:
        super().__init__(*lines)
        self.lines = tuple(map(str, lines))

    def __str__(self) -> str:
        return "\n".join(self.lines)


class Inconclusive(UsageError):
    """There was nothing to look at, so that nothing can be said; main prints it and exits with 3."""
