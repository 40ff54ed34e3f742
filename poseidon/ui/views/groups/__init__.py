"""Shows groups of pods (gangs, groups on trees, applications) and evicted pods."""
