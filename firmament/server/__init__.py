"""The server around the core: gRPC service, sessions of drivers, and rounds that events start."""
