"""Translates nodes into machines, and keeps which machines the solver has."""
