"""Recorded runs: reading trace files as streams, and judging them under a policy."""
