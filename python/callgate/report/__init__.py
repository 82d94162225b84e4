"""Rendering: findings and resolved policies as text and data. Nothing here decides anything."""
