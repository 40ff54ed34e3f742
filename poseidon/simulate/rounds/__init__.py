"""Decides which tasks take part in a simulated round, and when the round's decisions take effect."""
