"""Disks that a pod mounts without a claim, and which no two pods of a node may have, unless both only read.

As kube-scheduler's VolumeRestrictions (``isVolumeConflict``) tells them apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from poseidon.kube.api.core import PodSpec


def disks(spec: PodSpec) -> list[tuple[str, bool]]:
    """Return the disks of a pod, each once: a name, the same whoever mounts it, and whether the pod only reads."""
    return sorted(set(_disks(spec)))


def _disks(spec: PodSpec) -> Iterator[tuple[str, bool]]:
    for volume in spec.volumes:
        if volume.gce_persistent_disk is not None:
            yield f"gce {volume.gce_persistent_disk.pd_name}", volume.gce_persistent_disk.read_only
        elif volume.aws_elastic_block_store is not None:
            yield f"aws {volume.aws_elastic_block_store.volume_id}", False
        elif volume.iscsi is not None:
            yield f"iscsi {volume.iscsi.iqn}", volume.iscsi.read_only
        elif volume.rbd is not None:
            image = volume.rbd
            for monitor in image.monitors:
                yield f"rbd {monitor} {image.pool} {image.image}", image.read_only
