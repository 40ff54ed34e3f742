"""Runs one scenario many times with different settings."""
