"""Queues in the bridge: which pods and owners are in them, and the figures of each."""
