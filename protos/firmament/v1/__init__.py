"""Version 1 of the scheduler protocol: `scheduler_pb2` (messages) and `scheduler_pb2_grpc` (service)."""
