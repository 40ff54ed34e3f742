"""Rounds of a few tasks without gangs or rules between tasks: costs by machine decide, without a network."""
