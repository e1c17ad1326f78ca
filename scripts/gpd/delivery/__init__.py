"""What of a run is handed on: results, how they were made, and checksums. Nothing is run here but tools' --version."""
