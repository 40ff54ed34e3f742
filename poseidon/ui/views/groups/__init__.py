"""Pods that belong together: gangs, groups on trees, applications; and evicted pods."""
