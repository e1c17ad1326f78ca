"""What simulate_cohort.py is made of: a genome, variants, reads, and the tools it starts."""
