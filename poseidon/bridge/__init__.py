"""The bridge process: Kubernetes' view of a cluster in, bindings out, the solver in between."""
