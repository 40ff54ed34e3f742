"""The input of a simulation: the cluster, the work, and how time passes."""
