"""Groups that are distributed over a tree of machines, like Sakkara's."""
