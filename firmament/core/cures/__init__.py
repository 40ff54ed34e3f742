"""What would let a task that waits have a place: changes to it, to machines, moves of others; each of them tried."""
