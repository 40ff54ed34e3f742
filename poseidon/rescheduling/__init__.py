"""Moves of running pods to where they cost less: which, in which order, and carrying them out."""
