"""Decides the rounds of a recording of a running bridge again, or runs its work under another configuration."""
