"""Makes a flow optimal: computes node prices, prices the arcs left out, and repairs the flow."""
