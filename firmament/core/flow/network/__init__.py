"""Builds the network: chooses which arcs enter it, in which order, and what they cost."""
