"""Measured use of machines and tasks: the last reports, and histories of reports without statistics."""
