"""Trees of groups: each group is placed in one domain of each of its labels, and a tree as a whole or not at all."""
