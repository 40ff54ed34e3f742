"""Places the tasks of pairs: plans whole applications, places them, and improves what it placed."""
