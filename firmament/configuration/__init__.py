"""Reads the scheduler's configuration: one YAML document with a section per subject."""
