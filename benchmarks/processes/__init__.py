"""Both programs as processes, against an API server."""
