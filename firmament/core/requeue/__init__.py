"""Decides which waiting tasks take part in a round, when they are tried again, and when they change machines."""
