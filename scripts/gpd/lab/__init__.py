"""The throughput lab: a study is planned, run run by run, and its saturation point sought."""
