"""Serves the dashboard over HTTP: access, answers and limits."""
