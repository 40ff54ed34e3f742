"""Keeps the measured use of machines and tasks: last reports, and histories of reports without statistics."""
