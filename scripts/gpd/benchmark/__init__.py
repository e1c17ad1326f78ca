"""`gpd benchmark`: a standard workload, made on the spot and measured, and what the registry asks of its results."""
