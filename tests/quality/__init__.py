"""Measures on recorded runs of real agents how well the shipped packs tell loops from work: `make quality`."""
