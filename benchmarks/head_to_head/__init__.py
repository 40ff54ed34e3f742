"""Compares two schedulers, and a client that only binds, on the same pods with a real API server."""
