"""Judges placements by a real kube-scheduler: random clusters, our decisions, its verdict on each of them.

``generation`` makes clusters out of a seed; ``control_plane`` runs the binaries; ``session`` loads, asks and compares.
"""
