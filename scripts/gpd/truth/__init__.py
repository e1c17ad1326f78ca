"""Results held against the truth that the demo simulates."""
