"""Writes: bindings, evictions, events, conditions, statuses; in parallel, retried, behind what is more urgent."""
