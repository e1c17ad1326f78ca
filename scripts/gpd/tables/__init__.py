"""The tables of a study: collected from the files that its runs left."""
