"""Reads trees of groups as other projects describe them."""
