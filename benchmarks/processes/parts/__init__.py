"""Parts of measurements: helping processes, limits, objects in a cluster, and what processes use."""
