"""What AppGroups, NetworkTopologies and measurements of latency say."""
