"""Many simulations of one scenario, with settings that differ."""
