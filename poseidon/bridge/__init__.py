"""The bridge as a process: what it follows, knows, tells the solver and writes."""
