"""Writes to the API server in parallel, with retries, urgent writes first: bindings, evictions, events, statuses."""
