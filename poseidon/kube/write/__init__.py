"""Writes to the API server: bindings, evictions, events, conditions, statuses; in parallel, with retries,
urgent ones first.
"""
