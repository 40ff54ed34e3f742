"""Decides the order of tasks when places are scarce: importance, fair shares, reservations."""
