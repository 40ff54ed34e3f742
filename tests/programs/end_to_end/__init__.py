"""The real processes against the simulated API server, over real sockets."""
