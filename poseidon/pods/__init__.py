"""Translates pods into tasks and task classes."""
