"""Stores, checks, changes and selects the objects of the simulated API."""
