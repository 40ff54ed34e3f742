"""The flow network: which arcs enter it, what they cost, and the proof that the arcs left out do not matter."""
