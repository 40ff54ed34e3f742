"""Audits a cluster: finds nodes that moves could free, hot nodes, cheaper nodes for pods, and cures of waiting pods."""
