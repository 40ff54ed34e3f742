"""Groups that share out over a tree of machines."""
