"""Estimates with their errors, and the knee of a curve. Pure."""
