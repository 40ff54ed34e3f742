"""Groups of pods that are placed by rules at the levels of a cluster's tree, and that tree; without I/O.

ConfigMaps in; what they say, what is wrong with them, ranks and what is to be written back out. ``bridge`` and
``offline`` feed it and carry out what follows.
"""
