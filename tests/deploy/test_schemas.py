"""Every object of ``deploy/`` is valid by the schemas that Kubernetes publishes, in each version that is supported."""

from __future__ import annotations

import kubernetes_validate
import pytest

from tests.deploy.manifests import BESIDE, everything

SINCE_1_36 = ("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding")
VERSIONS = ("1.30", "1.31", "1.32", "1.33", "1.34", "1.35", "1.36")


def objects():
    """All that the folders create which is Kubernetes' own."""
    return [each for folder in (".", *BESIDE) for each in everything(folder)] + everything("ha")


ENDS = (VERSIONS[0], VERSIONS[-1])


@pytest.mark.parametrize(
    # What is valid in the oldest and in the newest is hardly ever not so in between.
    "version",
    [pytest.param(each, marks=[] if each in ENDS else [pytest.mark.full]) for each in VERSIONS],
)
def test_every_object_is_valid(version):
    for each in objects():
        if each["kind"] not in SINCE_1_36 or version == "1.36":
            kubernetes_validate.validate(each, version, strict=True)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_field_that_there_is_not_is_found(version):
    (deployment, *_) = [each for each in objects() if each["kind"] == "Deployment"]
    wrong = {**deployment, "spec": {**deployment["spec"], "replica": 1}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, version, strict=True)
