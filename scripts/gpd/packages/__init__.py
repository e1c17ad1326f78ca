"""A study as one file that strangers can check: made, read without trust, and held against checks."""
