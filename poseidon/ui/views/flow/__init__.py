"""Shows the flow of a round: which tasks got which machines, at which prices, and why other tasks wait."""
