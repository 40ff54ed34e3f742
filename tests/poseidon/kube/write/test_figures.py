"""Limits, periods and defaults that people and other programs rely on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.kube.write.binder:BinderOptions.burst": 6,
    "poseidon.kube.write.binder:BinderOptions.lone_seconds": 0.02,
    "poseidon.kube.write.binder:BinderOptions.lull_seconds": 0.2,
    "poseidon.kube.write.binder:ConcurrencyOptions.growth": 1.25,
    "poseidon.kube.write.binder:ConcurrencyOptions.hold_periods": 8,
    "poseidon.kube.write.binder:ConcurrencyOptions.initial": 64,
    "poseidon.kube.write.binder:ConcurrencyOptions.least": 8,
    "poseidon.kube.write.binder:ConcurrencyOptions.most": 256,
    "poseidon.kube.write.binder:ConcurrencyOptions.period_seconds": 0.5,
    "poseidon.kube.write.binder:ConcurrencyOptions.shrink": 0.7,
    "poseidon.kube.write.binder:ConcurrencyOptions.worth": 0.05,
    "poseidon.kube.write.volume_claim_writer:_AT_A_TIME": 16,
    "poseidon.kube.write.device_claim_writer:DeviceClaimWrite.read_first": False,
    "poseidon.kube.write.device_claim_writer:WriteEnd.unsure": False,
    "poseidon.kube.write.device_claim_writer:_AT_A_TIME": 64,
    "poseidon.kube.write.device_claim_writer:_CONFLICTS": 5,
    "poseidon.kube.write.event_writer:_MAX_MESSAGE": 1024,
    "poseidon.kube.write.event_writer:_MAX_NAME": 230,
    "poseidon.kube.write.event_writer:_REMEMBERED": 100_000,
    "poseidon.kube.write.event_writer:_Write.renews": False,
    "poseidon.kube.write.evictor:EvictionOutcome.gone": False,
    "poseidon.kube.write.evictor:_AT_A_TIME": 16,
    "poseidon.kube.write.patch_writer:GroupConditionWrite.composite": False,
    "poseidon.kube.write.patch_writer:_INVALID": 422,
    "poseidon.kube.write.pod_recovery:_STUBBORN": 60,
    "poseidon.kube.write.suspension_writer:SuspensionEnd.overtaken": False,
    "poseidon.kube.write.suspension_writer:_AT_A_TIME": 16,
    "poseidon.kube.write.write_retries:RetryOptions.attempts": 5,
    "poseidon.kube.write.write_retries:RetryOptions.backoff_cap": 5.0,
    "poseidon.kube.write.write_retries:RetryOptions.backoff_initial": 0.1,
    "poseidon.kube.write.write_retries:RetryOptions.throttled_seconds": 30.0,
    "poseidon.kube.write.write_retries:WriteBehindOptions.backoff_initial": 0.2,
    "poseidon.kube.write.write_retries:WriteBehindOptions.bound": 200_000,
    "poseidon.kube.write.write_retries:WriteBehindOptions.patience": 20.0,
    "poseidon.kube.write.write_retries:WriteBehindOptions.workers": 128,
    "poseidon.kube.write.patch_writer:ConditionWriter.unschedulable.undecided": False,
    "poseidon.kube.write.patch_writer:_NO_STATUS": {
        "phase": "",
        "scheduled": 0,
        "running": 0,
        "succeeded": 0,
        "failed": 0,
    },
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
