"""Decides the rounds of a recorded bridge again, or runs the recorded work under another configuration."""
