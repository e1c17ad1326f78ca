"""What the benches of the germline pipeline share: cohorts, runs of the workflow, call sets held against each other."""
