"""Translates NodeResourceTopology objects into records for cost models that align tasks with NUMA zones."""
