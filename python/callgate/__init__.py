"""Callgate guards an agent's tool calls with policies written as code."""

from callgate._core import ArgumentError, canonical_json, fingerprint

__all__ = ["ArgumentError", "canonical_json", "fingerprint"]
