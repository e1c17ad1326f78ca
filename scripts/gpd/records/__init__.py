"""What crosses the borders of modules: the records of cells, runs and jobs."""
