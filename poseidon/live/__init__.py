"""What the commands ask of a cluster and its solver while both run. Nothing is written."""
