"""Places the tasks of a round: solves and admits until each task has a place or provably can have none."""
