"""The systems that workloads can run on: the core alone, the solver process over gRPC, all processes over HTTP."""
