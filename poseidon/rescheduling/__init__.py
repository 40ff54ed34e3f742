"""Moves of running pods to nodes where they cost less: choosing, ordering, and carrying them out."""
