"""Room that is kept for gangs that restart."""
