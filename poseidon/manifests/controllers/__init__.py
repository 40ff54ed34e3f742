"""Does what the controllers of a cluster do: creates pods of workloads, binds claims, and reads records."""
