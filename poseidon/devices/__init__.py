"""Devices by dynamic resource allocation: reads what pods' claims ask for, and writes what devices they get.

Pure, except that ``poseidon.lifecycle.device_effects`` applies it to pods. Which devices a claim gets is the solver's
choice; it knows slices, classes and claims as records.
"""
