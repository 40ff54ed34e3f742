"""How bridges of one cluster agree which of them decides: the section ``leaderElection``."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, StrictBool, StrictStr, model_validator

from protos.conventions.configuration import PositiveDuration, Section

JITTER = 1.2
"""By how much of itself a pause before the next try may be longer, as in client-go."""

LONGEST_LEASE = 120.0
"""Seconds that any Lease may state and be believed."""
LONGEST_MULTIPLE = 4.0
"""A Lease may state so many times the duration that is configured here, where that is more."""

_NAME = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"


class LeaderElectionOptions(Section):
    """The section ``leaderElection``, in kube-scheduler's words and with its defaults, but off unless asked for.

    ``lease_duration`` (15 s): how long others wait after the last renewal that they saw before they take over.
    ``renew_deadline`` (10 s): how long the leader goes on without having renewed. ``retry_period`` (2 s): the pause
    between renewals. ``resource_name`` and ``resource_namespace`` name the Lease; without a namespace it is in that of
    the pod, or ``default`` outside a cluster.
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
        """The longest duration that a Lease may state; a longer one counts as this, as no bridge writes it.

        Bridges of one cluster are configured alike, or at most by ``LONGEST_MULTIPLE`` apart.
        """
        return max(LONGEST_LEASE, LONGEST_MULTIPLE * self.lease_duration)
