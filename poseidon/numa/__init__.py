"""NodeResourceTopology objects as records for models that align tasks with NUMA zones."""
