"""Matches labels, taints, images and node selectors over all machines at once."""
