"""Handles devices (dynamic resource allocation): reads what pods' claims request, and writes what devices they get.

These modules do no I/O; ``poseidon.lifecycle.device_effects`` applies them to pods. The solver chooses the devices for
each claim; it gets slices, classes and claims as records.
"""
