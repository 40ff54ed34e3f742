"""How good expected starts are: what was expected at moments of simulated clusters beside what came to be."""
