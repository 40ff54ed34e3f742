"""Targets of workloads: the core alone, the solver process over gRPC, all processes over HTTP."""
