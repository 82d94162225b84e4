"""The command line: one file per verb, each with `add_arguments(parser)` and `run(arguments) -> int`."""


class UsageError(Exception):
    """The command cannot be carried out as it was given; its text says why. Ends with exit code 2."""


class Inconclusive(UsageError):
    """There was nothing to look at, so that nothing can be said; main prints it and exits with 3."""
