"""The network: which arcs enter it, in which order, and what they cost."""
