"""The tables of a study: collected from the files that its cells left."""
