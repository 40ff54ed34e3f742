"""Talks to the API server: defines its objects, and reads, watches and writes them."""
