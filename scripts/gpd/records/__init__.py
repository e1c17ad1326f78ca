"""What crosses the borders of modules: the records of runs, runs and jobs."""
