"""Two schedulers in turn on the same pods, beside a client that only binds, with a real API server."""
