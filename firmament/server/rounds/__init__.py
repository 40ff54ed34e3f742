"""Keeps, saves and traces the rounds of a cluster, and finds classes that make rounds fail."""
