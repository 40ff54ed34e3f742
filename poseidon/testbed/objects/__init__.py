"""Stores, checks, changes and selects the objects behind the API."""
