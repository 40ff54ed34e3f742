"""Evicts pods through the eviction subresource, which disruption budgets may refuse.

A pod to be evicted ``beyond_budget`` is deleted, as kube-scheduler deletes its victims: with a condition that says why,
and the pod's own grace period.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from poseidon.kube.api.event_reasons import PREEMPTION_BY_SCHEDULER, ConditionType
from poseidon.kube.api.metadata import PodRef, format_time
from poseidon.kube.client.errors import ApiError, KubeError
from poseidon.kube.client.media_types import STRATEGIC_MERGE_PATCH
from poseidon.kube.write.joint_evictions import JointEviction
from poseidon.kube.write.write_retries import RetryOptions, Tries, WorkerPool

if TYPE_CHECKING:
    from poseidon.kube.client.transport import Transport
    from poseidon.kube.environment import Environment

_log = logging.getLogger(__name__)

_AT_A_TIME = 16
_BUDGET_REFUSAL = "disruption budget"
_WITHDRAWN = "nobody needs its place any more"
_SEVERAL_BUDGETS = "more than one PodDisruptionBudget"


class EvictionRequest(NamedTuple):
    """A pod to evict from its node. ``beyond_budget``: even if disruption budgets do not allow it.

    ``together`` is a name shared by pods that must all leave or all stay, "" for a pod that may leave alone.
    """

    pod: PodRef
    node: str
    beyond_budget: bool
    message: str
    together: str = ""

    @property
    def uid(self) -> str:
        """The uid of the pod."""
        return self.pod.uid


class EvictionOutcome(NamedTuple):
    """The result of an eviction: ``refusal`` is "" if the pod leaves or no longer exists, else why it stays.

    ``gone``: whether the pod no longer existed; this request or another one may have removed it.
    """

    request: EvictionRequest
    refusal: str = ""
    gone: bool = False


class Evictor(WorkerPool[EvictionRequest]):
    """A writer that evicts pods until cancelled.

    It calls ``on_outcome`` once per request, in the event loop's thread.

    Each request contains the pod's uid, so it never evicts another pod of the same name. A repeated request does no
    harm.
    """

    def __init__(
        self,
        environment: Environment,
        on_outcome: Callable[[EvictionOutcome], None],
        options: RetryOptions | None = None,
    ) -> None:
        super().__init__(self._carry_out, lambda: _AT_A_TIME)
        self._environment = environment
        self._transport = environment.transport
        self._on_outcome = on_outcome
        self._options = options or RetryOptions()
        self._requested: set[str] = set()
        self._units: dict[str, JointEviction] = {}

    def submit(self, request: EvictionRequest) -> None:
        """Queue an eviction."""
        self._requested.add(request.uid)
        if request.together:
            self._units.setdefault(request.together, JointEviction()).unfinished.add(request.uid)
        super().submit(request)

    def withdraw(self, uid: str) -> None:
        """Cancel the eviction of a pod unless it has been requested already.

        The outcome of a cancelled eviction is a refusal.

        A pod that must leave together with others stays only if all of them can stay.
        """
        self._requested.discard(uid)

    async def _carry_out(self, request: EvictionRequest) -> None:
        try:
            outcome = await self._evict(request)
        except Exception as error:  # noqa: BLE001 - one eviction that cannot be made must not end the others
            outcome = EvictionOutcome(request, f"cannot be evicted: {error!r}")
        self._requested.discard(request.uid)
        self._end_in_unit(request)
        self._environment.metrics.writes.evictions.labels(_label(outcome)).inc()
        self._on_outcome(outcome)

    def _end_in_unit(self, request: EvictionRequest) -> None:
        """Remove an eviction that has ended, and its unit with the unit's last eviction."""
        unit = self._units.get(request.together)
        if unit is not None:
            unit.unfinished.discard(request.uid)
            if not unit.unfinished:
                del self._units[request.together]

    async def _is_withdrawn(self, request: EvictionRequest) -> bool:
        """Return whether a pod stays because its eviction was withdrawn."""
        if request.uid in self._requested:
            return False
        unit = self._units.get(request.together)
        return unit is None or await unit.stays(self._requested)

    async def _ask(self, request: EvictionRequest, *, delete: bool) -> None:
        """Send one request for an eviction."""
        unit = self._units.get(request.together)
        with unit.ask() if unit is not None else nullcontext():
            await (self._delete(request) if delete else post_eviction(self._transport, request.pod))

    async def _evict(self, request: EvictionRequest) -> EvictionOutcome:
        """Request the eviction until it succeeds, is withdrawn, or another try would not help."""
        tries = Tries(self._options, self._environment.random, self._environment.clock)
        delete = request.beyond_budget
        while True:
            if await self._is_withdrawn(request):
                return EvictionOutcome(request, _WITHDRAWN)
            try:
                await self._ask(request, delete=delete)
            except ApiError as error:
                if error.not_found or error.replaced:
                    # The pod no longer exists, or another pod has its name.
                    return EvictionOutcome(request, gone=True)
                if not delete and _SEVERAL_BUDGETS in error.message:
                    # The eviction subresource cannot check several budgets at once, but the solver has checked each
                    # of them.
                    delete = True
                    continue
                refused = is_budget_refusal(error)
                # A conflict for another reason means that some other write came in between.
                pause = None if refused else tries.pause(error, may_help=error.transient or error.outrun)
                if pause is None:
                    return EvictionOutcome(request, error.message if error.throttled else str(error))
            except KubeError as error:
                pause = tries.pause(error)
                if pause is None:
                    return EvictionOutcome(request, str(error))
            else:
                return EvictionOutcome(request)
            await self._environment.sleep(pause)

    async def _delete(self, request: EvictionRequest) -> None:
        pod = request.pod
        condition = {
            "type": ConditionType.DISRUPTION_TARGET,
            "status": "True",
            "reason": PREEMPTION_BY_SCHEDULER,
            "message": request.message,
            "lastTransitionTime": format_time(self._environment.wall()),
        }
        patch = {"metadata": {"uid": pod.uid}, "status": {"conditions": [condition]}}
        await self._transport.patch(f"{pod.path}/status", msgspec.json.encode(patch), STRATEGIC_MERGE_PATCH)
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": pod.uid}}
        await self._transport.delete(pod.path, msgspec.json.encode(options))


async def post_eviction(transport: Transport, pod: PodRef, **options: int) -> bytes:
    """Send one eviction of this pod; another pod of the same name is never evicted. Raises ``KubeError``."""
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod.name, "namespace": pod.namespace},
        "deleteOptions": {**options, "preconditions": {"uid": pod.uid}},
    }
    return await transport.post(f"{pod.path}/eviction", msgspec.json.encode(body))


def is_budget_refusal(error: ApiError) -> bool:
    """Return whether a disruption budget forbids the eviction at present."""
    return error.throttled and _BUDGET_REFUSAL in error.message


def _label(outcome: EvictionOutcome) -> str:
    if outcome.refusal == _WITHDRAWN:
        return "withdrawn"
    return "refused" if outcome.refusal else "accepted"
