"""Annotates waiting pods that ask for it with the time when they are expected to get a node.

A pod asks by having the annotation `ASKS`. The answer is a JSON object in the annotation `EXPECTED`, with RFC 3339
times: ``{"computed", "median", "earliest", "latest", "lookedAhead"}``. A time is null if the pod does not start
within the seconds of ``lookedAhead``. A pod that has got its node keeps the last answer. The first answer
stays in the annotation `FIRST_EXPECTED`, so that later answers can be compared with the real starts.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from poseidon.kube.api.metadata import PodRef, format_time
from poseidon.kube.api.pods import Pod
from poseidon.kube.client.errors import ApiError
from poseidon.manifests.loader import Manifests
from poseidon.pods.tasks import get_qualified_name
from poseidon.rescheduling.cluster_access import ClusterAccess
from poseidon.simulate.expected_starts import ExpectedStart
from poseidon.simulate.forecasts.past_forecasts import FIRST_EXPECTED

ASKS = "firmament.io/tell-start"
"""Annotation of a pod that asks for its expected start, with the value "true"."""
EXPECTED = "firmament.io/expected-start"
"""Annotation that holds the expected start."""


def list_asking(manifests: Manifests) -> frozenset[str]:
    """Return the pods without a node whose annotation asks for their expected start, as ``namespace/name``."""
    return frozenset(get_qualified_name(pod.metadata) for pod in manifests.pods if _asks(pod))


def _asks(pod: Pod) -> bool:
    return not pod.spec.node_name and pod.metadata.annotations.get(ASKS) == "true"


def describe_start(start: ExpectedStart, now: float) -> str:
    """Return the value of the annotation `EXPECTED`; ``now`` is when it was computed, in seconds since the epoch."""
    times = {"median": start.median, "earliest": start.low, "latest": start.high}
    answer = {
        "computed": format_time(now),
        **{name: None if each is None else format_time(now + each) for name, each in times.items()},
        "lookedAhead": round(start.ahead),
    }
    return msgspec.json.encode(answer).decode()


async def annotate_starts(
    access: ClusterAccess, starts: Iterable[ExpectedStart], now: float
) -> list[ExpectedStart]:
    """Write expected starts to pods that still ask and have no node; return the starts that were written.

    Raises ``KubeError`` if the API server does not answer, or refuses a write.
    """
    written = []
    for start in starts:
        namespace, _, name = start.pod.partition("/")
        pod = await access.pod(namespace, name)
        if pod is None or not _asks(pod):
            continue
        answer = describe_start(start, now)
        first = pod.metadata.annotations.get(FIRST_EXPECTED, answer)
        try:
            await access.annotate(
                PodRef(pod.metadata.uid, namespace, name), {EXPECTED: answer, FIRST_EXPECTED: first}
            )
        except ApiError as error:
            if not (error.not_found or error.replaced):
                raise
        else:
            written.append(start)
    return written
