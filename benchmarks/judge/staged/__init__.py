"""Scenarios of what controllers and people do to a cluster; each checks its expected outcome."""
