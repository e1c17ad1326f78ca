"""Estimates with their errors, and the saturation point of a curve. Pure."""
