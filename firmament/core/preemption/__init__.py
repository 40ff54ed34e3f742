"""Evicts less important tasks so that waiting tasks get places: chooses victims, and which task each makes room for."""
