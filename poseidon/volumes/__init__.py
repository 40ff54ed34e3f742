"""What a cluster's claims, volumes, storage classes and CSI nodes mean for where pods may run.

Free of input and output, and of time: changes in, what pods and machines are affected out. The bridge and the
offline commands share it. The rules are those of kube-scheduler's plugins VolumeBinding, VolumeZone,
NodeVolumeLimits (CSI) and VolumeRestrictions.
"""
