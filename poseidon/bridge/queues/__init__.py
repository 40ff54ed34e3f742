"""Handles queues in the bridge: which pods and owners are in each queue, and the figures of each queue."""
