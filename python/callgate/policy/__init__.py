"""Policies: YAML text in, one resolved document with positions out."""
