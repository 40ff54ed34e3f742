"""The shell around the core: gRPC service, sessions, rounds driven by events."""
