"""Limits, periods and defaults that people and other programs rely on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.lifecycle.actions:AnnounceUnschedulable.undecided": False,
    "poseidon.lifecycle.actions:Bind.complained": False,
    "poseidon.lifecycle.evictions.rate:EvictionLimits.burst": 5000,
    "poseidon.lifecycle.evictions.rate:EvictionLimits.per_second": 50.0,
    "poseidon.lifecycle.evictions.review:SYSTEM_CRITICAL": 2_000_000_000,
    "poseidon.lifecycle.failed_scheduling_timing:AnnouncementOptions.counts_after": 60.0,
    "poseidon.lifecycle.failed_scheduling_timing:OUTAGE_SECONDS": 30.0,
    "poseidon.lifecycle.failed_scheduling_timing:_LOOK_SECONDS": 5.0,
    "poseidon.lifecycle.kept_places:MoveOptions.keep_places": False,
    "poseidon.lifecycle.kept_places:MoveOptions.most": 100,
    "poseidon.lifecycle.kept_places:_Kept.going": False,
    "poseidon.lifecycle.kept_places:_Kept.gone": False,
    "poseidon.lifecycle.kept_places:_LONGEST": 600.0,
    "poseidon.lifecycle.kept_places:_Meant.back": False,
    "poseidon.lifecycle.kept_places:_OldPlace.kept": False,
    "poseidon.lifecycle.pending_bindings:_NAMED": 3,
    "poseidon.lifecycle.phases:CAPACITY": 50_000,
    "poseidon.lifecycle.phases:PodRecord.announced": False,
    "poseidon.lifecycle.phases:PodRecord.asked_to_leave": False,
    "poseidon.lifecycle.phases:PodRecord.ran": False,
    "poseidon.lifecycle.phases:PodRecord.said_here": False,
    "poseidon.lifecycle.phases:PodRecord.uses_claims": False,
    "poseidon.lifecycle.phases:PodRecord.uses_devices": False,
    "poseidon.lifecycle.phases:SentState.assumed": False,
    "poseidon.lifecycle.phases:SentState.initialized": 0.0,
    "poseidon.lifecycle.placements:PART_DELTAS": 250,
    "poseidon.lifecycle.pod_records:_FEW": 4,
    "poseidon.lifecycle.refused_deltas:ROUNDS": 30,
    "poseidon.lifecycle.refused_deltas:SECONDS": 60.0,
    "poseidon.lifecycle.refused_pods:RecoveryOptions.delete_replaced_pods": False,
    "poseidon.lifecycle.refused_pods:RecoveryOptions.max_recreations": 5,
    "poseidon.lifecycle.refused_pods:RecoveryOptions.recreate_bare_pods": False,
    "poseidon.lifecycle.refused_pods:_LONGEST_COUNT": 9,
    "poseidon.lifecycle.refused_pods:_MOST_COUNTED": 1_000_000_000,
    "poseidon.lifecycle.restart_room:MOST_ROOMS": 5_000,
    "poseidon.lifecycle.restart_room:_NAMESPACES": 5,
    "poseidon.lifecycle.device_effects:DeviceEffects.in_use": False,
    "poseidon.lifecycle.pending_bindings:PendingBindings.fail.nominated": False,
    "poseidon.lifecycle.pod_records:PodRecords.ask_to_leave.leave": True,
    "poseidon.lifecycle.refused_pods:_FIRST_DELAY": 1.0,
    "poseidon.lifecycle.refused_pods:_LAST_DELAY": 300.0,
    "poseidon.lifecycle.volume_effects:VolumeEffects.in_use": False,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
