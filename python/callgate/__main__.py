"""`python -m callgate`: the command `callgate` of this very interpreter, wherever scripts are not on the path."""

from __future__ import annotations

from callgate.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
