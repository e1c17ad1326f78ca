"""What simulate_experiment.py is made of: genes with introns, expression with known changes, and reads."""
