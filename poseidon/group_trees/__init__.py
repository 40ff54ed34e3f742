"""Reads topology groups and the cluster's tree of nodes, and finds the statuses to write; does no I/O.

These modules take ConfigMaps, and return specs, faults, ranks and updates. ``bridge`` and ``offline`` call these
modules and carry out the results.
"""
