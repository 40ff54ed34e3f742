"""Base policies: those of Firmament, and two helpers that any policy can use."""
