"""Places trees of groups whose rules say over how many domains members are divided, and how many each gets."""
