"""What is said of certificate files: whether they are there, belong together, and are valid now and next week."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from poseidon.doctor.certificates import check_certificates
from poseidon.doctor.findings import Finding, Verdict
from protos.conventions.tls import TlsFiles
from tests.support.certificates import DAY, Certificate, make_authority, sign

SECOND = timedelta(seconds=1)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return make_authority(tmp_path_factory.mktemp("authority"), "authority")


@pytest.fixture(scope="module")
def own(authority: Certificate, tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return sign(authority, tmp_path_factory.mktemp("own"), "own", good=(-DAY, 20 * DAY))


def times(path: Path) -> tuple[datetime, datetime]:
    found = x509.load_pem_x509_certificate(path.read_bytes())
    return found.not_valid_before_utc, found.not_valid_after_utc


def check(own: Certificate, authority: Path, when: datetime) -> list[Finding]:
    return [*check_certificates(TlsFiles(own.certificate, own.key, authority), when.timestamp())]


@pytest.mark.parametrize(
    ("end", "after", "verdict", "words"),
    [
        ("begin", -SECOND, Verdict.WRONG, "not valid before {begin:%F %T} UTC; check the clock"),
        ("begin", 0 * SECOND, Verdict.OK, "good until {end:%F %T} UTC"),
        ("end", -7 * DAY, Verdict.OK, "good until {end:%F %T} UTC"),
        (
            "end",
            SECOND - 7 * DAY,
            Verdict.WARNING,
            "good until {end:%F %T} UTC, which is soon; make sure that it is being replaced",
        ),
        (
            "end",
            0 * SECOND,
            Verdict.WARNING,
            "good until {end:%F %T} UTC, which is soon; make sure that it is being replaced",
        ),
        ("end", SECOND, Verdict.WRONG, "was good until {end:%F %T} UTC; replace it"),
    ],
)
def test_whether_a_certificate_is_valid_now(own, authority, end, after, verdict, words):
    begin, until = times(own.certificate)
    found = check(own, authority.certificate, (begin if end == "begin" else until) + after)[0]
    expected = words.format(begin=begin, end=until)
    assert found == Finding("certificate", verdict, f"{own.certificate}: {expected}")


def test_of_several_authorities_the_one_that_is_valid_longest_decides(own, authority, tmp_path):
    begin, _ = times(own.certificate)
    later = sign(authority, tmp_path, "later", good=(-DAY, 30 * DAY))
    _, until = times(later.certificate)
    for first, second in ((authority, later), (later, authority)):
        bundle = tmp_path / "bundle.pem"
        bundle.write_bytes(first.certificate.read_bytes() + second.certificate.read_bytes())
        _, found = check(own, bundle, begin + DAY)
        assert found == Finding(
            "certificate authority", Verdict.OK, f"{bundle}: good until {until:%F %T} UTC"
        )


def test_a_file_that_is_missing_is_named_and_nothing_else_is_checked(own, authority, tmp_path):
    lacking = TlsFiles(own.certificate, own.key, tmp_path / "none.pem")
    [found] = check_certificates(lacking, 0.0)
    assert (found.check, found.verdict) == ("certificate", Verdict.WRONG)
    assert str(tmp_path / "none.pem") in found.message


def test_files_that_hold_something_else_are_named(own, authority, tmp_path):
    begin, _ = times(own.certificate)
    text = tmp_path / "text.pem"
    text.write_text("hello")

    def say(certificate: Path, key: Path, trusted: Path) -> list[tuple[Verdict, str]]:
        found = check_certificates(TlsFiles(certificate, key, trusted), (begin + DAY).timestamp())
        return [(each.verdict, each.message) for each in found]

    shown, _ = say(text, own.key, authority.certificate)
    assert shown[0] is Verdict.WRONG
    assert shown[1].startswith(f"{text} holds no certificate (PEM): ")
    shown, _ = say(own.certificate, text, authority.certificate)
    assert shown[0] is Verdict.WRONG
    assert shown[1].startswith(f"{text} holds no key without a password (PEM): ")
    shown, trusted = say(own.certificate, authority.key, text)
    assert shown == (Verdict.WRONG, f"{authority.key} is not the key of {own.certificate}")
    assert trusted[0] is Verdict.WRONG
    assert trusted[1].startswith(f"{text} holds no certificate (PEM): ")


def test_a_finding_as_json():
    found = Finding("solver", Verdict.WARNING, "slow").as_json()
    assert found == {"check": "solver", "verdict": "warning", "message": "slow"}
