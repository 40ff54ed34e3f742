"""Takes the input of a round: the cluster as it is when the round begins."""
