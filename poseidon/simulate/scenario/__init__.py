"""The input of a simulation: cluster, work, and how time passes."""
