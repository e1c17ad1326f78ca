"""Figures that others published, and what follows from them."""
