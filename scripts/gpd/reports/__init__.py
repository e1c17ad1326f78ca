"""What a study came to, for people: report.html."""
