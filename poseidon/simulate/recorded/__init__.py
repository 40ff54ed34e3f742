"""Recordings of a running bridge: decided again as they were, or under another configuration."""
