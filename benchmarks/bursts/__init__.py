"""Bursts of pods on nodes whose measured use comes late."""
