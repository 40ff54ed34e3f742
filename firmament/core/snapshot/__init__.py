"""What a round works on: the cluster as it is when the round begins."""
