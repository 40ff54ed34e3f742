"""Starts several processes, watches over them, and ends them together."""
