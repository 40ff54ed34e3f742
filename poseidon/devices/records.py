"""Encodes slices, device classes and claims as records for the solver, in Kubernetes' own structure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from poseidon.custom_records import CustomResource, Reading
from poseidon.devices.claims import DeviceClaim
from poseidon.kube.api import collections
from poseidon.kube.api.devices import DeviceClass, Json, ResourceSlice

SLICE_RECORD, CLASS_RECORD, CLAIM_RECORD = "DeviceSlice", "DeviceClass", "DeviceClaim"
FEATURES_RECORD = "DeviceFeatures"

_encode = msgspec.json.Encoder(order="sorted").encode


def _read(found: DeviceClass | ResourceSlice) -> Reading:
    return Reading(found.metadata.name, _encode(found.spec))


DEVICE_CLASSES: CustomResource[DeviceClass] = CustomResource(
    CLASS_RECORD, (collections.DEVICE_CLASSES,), _read
)
DEVICE_SLICES: CustomResource[ResourceSlice] = CustomResource(
    SLICE_RECORD, (collections.RESOURCE_SLICES,), _read
)


def encode_features(disabled: Sequence[str]) -> bytes | None:
    """Return the payload of the record of feature gates; None, for no record, if all gates are on."""
    return _encode(dict.fromkeys(disabled, False)) if disabled else None


def encode_claim(
    claim: DeviceClaim, under_way: Json | None, reserved_for: Iterable[str], in_use_by: Iterable[str]
) -> bytes:
    """Return the payload of a claim's record.

    ``under_way``: the allocation that a claim without an allocation will get.
    """
    return _encode(
        {
            "spec": claim.found.spec,
            "allocation": under_way
            if claim.found.status.allocation is None
            else claim.found.status.allocation,
            "reserved_for": [*reserved_for],
            "in_use_by": [*in_use_by],
        }
    )
