"""The flow network: which arcs enter it, what they cost, and the proof that the ones left out do not matter."""
