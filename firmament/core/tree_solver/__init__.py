"""Groups of tasks placed by rules at every level of a tree of machines: counts per leaf, pure functions on arrays."""
