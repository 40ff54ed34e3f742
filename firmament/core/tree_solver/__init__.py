"""Places groups of tasks by rules for every level of a tree of machines, with pure functions on arrays of counts."""
