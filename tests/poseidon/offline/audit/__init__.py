"""`poseidon audit`: nodes that could be freed, what keeps others, and what else is wrong with a cluster as it is."""
