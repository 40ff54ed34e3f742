"""Solves rounds of a few tasks without gangs or rules between tasks, by costs per machine, without a network."""
