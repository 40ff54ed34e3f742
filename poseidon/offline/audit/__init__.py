"""What could be better about a cluster as it is."""
