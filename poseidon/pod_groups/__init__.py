"""Finds the group that a pod is in, what the group requires, and how far its pods have progressed.

These modules do no I/O; ``bridge`` and ``offline`` pass changes to them and carry out the effects.
"""
