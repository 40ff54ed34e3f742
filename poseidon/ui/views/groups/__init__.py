"""Pods that belong together: gangs, groups on trees, applications; and who had to go."""
