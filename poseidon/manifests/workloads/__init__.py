"""Expands other projects' workloads that state how many pods they have: a module per project, and a table of kinds."""
