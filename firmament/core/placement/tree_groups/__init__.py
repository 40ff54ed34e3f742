"""Places groups that are distributed over a tree of machines, in a round that also places other tasks."""
