"""Groups that share out over a tree of machines, in a round with other tasks."""
