"""One pod's way through the modules of the bridge: no longer than it was, and as ``docs/architecture.md`` tells it."""

from __future__ import annotations

import msgspec

from tests.documentation.documented_way import DocumentedWay
from tests.support.pod_way import on_the_way


async def test_a_plain_pod_goes_the_way_that_is_told():
    """The number there only becomes lower: join what is read together, and leave out what a pod does not need."""
    way, written = await on_the_way()
    binding = msgspec.json.decode(written["/api/v1/namespaces/default/pods/a/binding"])
    assert (binding["metadata"]["uid"], binding["target"]["name"]) == ("a", "n1")
    assert msgspec.json.decode(written["/api/v1/namespaces/default/events"])["reason"] == "Scheduled"
    DocumentedWay("One pod's way").check(way)
