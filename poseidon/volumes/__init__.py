"""Finds where pods may run because of a cluster's claims, volumes, storage classes and CSI nodes.

These modules do no I/O and read no clock: they receive changes, and return which pods and machines are affected. The
bridge and the offline commands share these modules. The rules are those of kube-scheduler's plugins VolumeBinding,
VolumeZone, NodeVolumeLimits (CSI) and VolumeRestrictions.
"""
