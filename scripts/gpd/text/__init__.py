"""How figures, words and tables are written."""
