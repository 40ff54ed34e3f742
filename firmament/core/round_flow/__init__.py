"""Shows people the flow of a round: which tasks went where, at what price, and why other tasks still wait."""
