"""Decides which waiting tasks take part in a round, when they are tried again, and which free places they take over."""
