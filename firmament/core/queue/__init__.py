"""Decides which waiting tasks come first when capacity is scarce: importance, fair shares, reservations."""
