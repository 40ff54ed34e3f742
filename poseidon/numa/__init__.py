"""Turns NodeResourceTopology objects into records for models that align tasks with NUMA zones."""
