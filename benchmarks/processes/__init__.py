"""Measures both programs as processes, against an API server."""
