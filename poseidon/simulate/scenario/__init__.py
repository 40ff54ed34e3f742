"""What a simulation is told: cluster, work, and how time passes."""
