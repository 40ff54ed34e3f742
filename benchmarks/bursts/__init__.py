"""Bursts of pods on nodes whose use is measured with delay."""
