"""Makes a flow optimal: node prices, pricing of the arcs left out, repair."""
