"""The command line: one file per verb, each with `add_arguments(parser)` and `run(arguments) -> int`."""


class UsageError(Exception):
    """The command cannot be carried out as it was given; its text says why. Ends with exit code 2."""
