"""Starts, watches and ends processes together."""
