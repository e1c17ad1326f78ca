"""The throughput lab: a study is planned, run cell by cell, and its knee sought."""
