//! CEL for callgate policies: syntax, check, evaluate, all bounded. Knows nothing of tools or agents.
