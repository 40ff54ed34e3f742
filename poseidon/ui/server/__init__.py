"""Serves the dashboard over HTTP: who may use it, what it answers, and its limits."""
