"""Shows the flow of a round: which tasks went where, at which prices, and why other tasks wait."""
