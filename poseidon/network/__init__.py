"""Applications and networks, without any I/O: what AppGroup and NetworkTopology say, and what is said of them."""
