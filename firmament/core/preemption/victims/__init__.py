"""Who would have to go from a machine: bundles of victims, chosen or searched for exactly."""
