"""Decides which waiting tasks take part in a round, when tasks are tried again, and when they change machines."""
