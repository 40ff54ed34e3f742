"""What a workload can be run on: the core by itself, the solver process over gRPC, all processes over HTTP."""
