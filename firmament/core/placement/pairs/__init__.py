"""Places tasks of pairs: whole applications are planned, placed and improved."""
