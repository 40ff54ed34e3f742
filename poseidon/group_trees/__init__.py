"""Groups of pods that are placed by rules at the levels of a cluster's tree, and that tree; without I/O.

ConfigMaps go in; specs, faults, ranks and updates come out. ``bridge`` and ``offline`` feed it and carry out
the results.
"""
