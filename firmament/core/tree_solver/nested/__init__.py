"""Trees of groups: each group in one domain of each of its labels, all or none of a tree."""
