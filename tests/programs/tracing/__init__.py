"""Traces of rounds and bindings, as a collector receives them."""
