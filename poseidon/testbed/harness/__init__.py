"""Starts several processes, notices when one of them ends, and ends them together."""
