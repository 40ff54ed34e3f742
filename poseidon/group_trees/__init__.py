"""Topology groups, which are placed by rules at the levels of a cluster's tree, and the tree itself; without I/O.

These modules read ConfigMaps, and return specs, faults, ranks and updates. ``bridge`` and ``offline`` call them and
carry out the results.
"""
