"""Shows the device claims of a pod: what they request, the devices that they have, or what they wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from poseidon.devices.claims import list_devices

if TYPE_CHECKING:
    from poseidon.devices.claims import DeviceClaim
    from poseidon.ui.cluster.pod_claims import ClaimOfPod
    from poseidon.ui.cluster.records import PodEntry
    from poseidon.ui.page_data import Known

_MOST_REQUESTS = 32
_MOST_TEXT = 200


def show_claims(known: Known, record: PodEntry) -> list[dict[str, Any]]:
    """Return a pod's claims, in the order of its spec, as the JSON array that the documents describe."""
    return [_show(each, known.devices.find_claim(each.claim)) for each in record.claims]


def _show(named: ClaimOfPod, claim: DeviceClaim | None) -> dict[str, Any]:
    allocation = claim.found.status.allocation if claim is not None else None
    devices = sorted(list_devices(allocation)) if allocation is not None else []
    return {
        "name": named.name,
        "claim": named.claim,
        "asks": _describe_requests(claim.found.spec) if claim is not None else [],
        "devices": [f"{each.driver}/{each.pool}/{each.name}" for each in devices],
        "waits": "" if allocation is not None else _say_why(named, claim),
    }


def _say_why(named: ClaimOfPod, claim: DeviceClaim | None) -> str:
    if claim is None:
        if not named.claim and named.template:
            return f"not made yet from template {named.template}"
        return "does not exist"
    return "is being deleted" if claim.deleting else "has no devices yet"


def _describe_requests(spec: Any) -> list[str]:
    """Return a line for each request in a claim's spec; requests that cannot be read are left out."""
    requests = _get(_get(spec, "devices"), "requests")
    found = []
    for each in requests[:_MOST_REQUESTS] if isinstance(requests, list) else ():
        listed = _get(each, "firstAvailable")
        options = listed if isinstance(listed, list) else [_get(each, "exactly")]
        text = ", or else ".join(filter(None, map(_describe_option, options)))
        if text:
            found.append(text[:_MOST_TEXT])
    return found


def _describe_option(option: Any) -> str:
    kind = _get(option, "deviceClassName")
    if not isinstance(kind, str):
        return ""
    if _get(option, "allocationMode") == "All":
        return f"all of {kind}"
    count = _get(option, "count")
    return f"{count if isinstance(count, int) and count > 0 else 1} of {kind}"


def _get(found: Any, key: str) -> Any:
    return found.get(key) if isinstance(found, dict) else None
