"""What controllers of a cluster would make of manifests: pods of workloads, groups, records."""
