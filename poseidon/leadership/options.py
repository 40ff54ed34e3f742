"""Defines the section ``leaderElection`` of the configuration: how bridges of a cluster elect their leader."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, StrictBool, StrictStr, model_validator

from protos.configuration.sections import PositiveDuration, Section

JITTER = 1.2
"""Largest random factor of the pause before the next try, as in client-go."""

LONGEST_LEASE = 120.0
"""Duration in seconds that a Lease may always state, whatever is configured."""
LONGEST_MULTIPLE = 4.0
"""Multiple of the configured duration that a Lease may state, if that is more than ``LONGEST_LEASE``."""

_NAME = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"


class LeaderElectionOptions(Section):
    """The section ``leaderElection``, with the names and defaults of kube-scheduler, but off by default.

    ``lease_duration`` (15 s): how long other bridges wait, after the last renewal that they saw, before they take
    over. ``renew_deadline`` (10 s): how long the leader goes on without a renewal. ``retry_period`` (2 s): the pause
    between renewals. ``resource_name`` and ``resource_namespace`` name the Lease; without a namespace it is in that
    of the pod, or ``default`` outside a cluster.
    """

    leader_elect: StrictBool = False
    lease_duration: PositiveDuration = 15.0
    renew_deadline: PositiveDuration = 10.0
    retry_period: PositiveDuration = 2.0
    resource_name: Annotated[StrictStr, Field(pattern=_NAME, max_length=253)] = "poseidon"
    resource_namespace: Annotated[StrictStr, Field(max_length=63)] = ""

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if self.lease_duration < 1.0:
            raise ValueError("leaseDuration must be at least 1s: a Lease states whole seconds")
        if self.renew_deadline >= self.lease_duration:
            raise ValueError("leaseDuration must be longer than renewDeadline")
        if self.retry_period * JITTER >= self.renew_deadline:
            raise ValueError(f"renewDeadline must be longer than {JITTER} times retryPeriod")
        return self

    @property
    def longest_lease(self) -> float:
        """Longest duration of a Lease, in seconds, that a bridge honours; a longer duration is cut to this.

        Durations configured for bridges of one cluster may differ by the factor ``LONGEST_MULTIPLE`` at most.
        """
        return max(LONGEST_LEASE, LONGEST_MULTIPLE * self.lease_duration)
