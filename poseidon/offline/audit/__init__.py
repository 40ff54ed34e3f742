"""Audits a cluster: nodes that can be freed, cheaper places, hot nodes, misplaced pods, cures of waiting pods."""
