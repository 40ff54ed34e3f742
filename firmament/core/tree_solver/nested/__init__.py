"""Places trees of groups: each group in one domain of each of its labels, each tree as a whole or not at all."""
