"""Measured use of machines and tasks: the last reports, and histories of those that nobody else aggregates."""
