"""Reads groups of pods, and trees of groups, as other projects describe them."""
