"""Callgate guards an agent's tool calls with policies written as code."""
