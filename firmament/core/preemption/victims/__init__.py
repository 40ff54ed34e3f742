"""Chooses which tasks would have to leave a machine, as bundles of victims."""
