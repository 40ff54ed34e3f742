"""Solver and bridge show each other certificates, follow files that change, and names decide about clusters."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import asynccontextmanager
from dataclasses import replace

import grpc
import pytest
from click.testing import CliRunner
from grpc import aio

from firmament.cli import main as firmament
from firmament.configuration.document import SchedulerConfiguration
from firmament.inspection.client import QuestionError, solver_client
from firmament.server.access.address import ListenAddress
from firmament.server.access.credentials import parse_clients
from firmament.server.solver_server import ServeOptions, SolverServer
from poseidon.testbed.harness.child import Child
from poseidon.testbed.kubeconfig import write_kubeconfig
from protos.conventions.tls import TlsError, TlsFiles
from protos.firmament.v1 import scheduler_pb2 as pb
from protos.firmament.v1 import scheduler_pb2_grpc as pb_grpc
from tests.programs.end_to_end.scene import scene
from tests.programs.end_to_end.sessions import QUICK, driving
from tests.support import preloaded
from tests.support.certificates import DAY, flags, make_authority, sign
from tests.support.time_limits import stretch
from tests.support.waiting import until

pytestmark = pytest.mark.usefixtures("forked_programs")

MAY = "poseidon=mine"


class Place:
    """A folder with an authority, and a folder of files for each name that it signs."""

    def __init__(self, folder) -> None:
        self.folder = folder
        self.authority = self.new_authority("authority")

    def new_authority(self, name: str):
        return make_authority(self.folder, name)

    def give(
        self, name: str, alternative: str = "IP:127.0.0.1", by=None, trusted=None, good=(-DAY, DAY)
    ) -> TlsFiles:
        """Write files of a name, over those of before."""
        own = self.folder / name
        own.mkdir(exist_ok=True)
        made = sign(by or self.authority, self.folder, name, alternative, good)
        shutil.copy(made.certificate, own / "tls.crt")
        shutil.copy(made.key, own / "tls.key")
        shutil.copy((trusted or self.authority).certificate, own / "ca.crt")
        return TlsFiles(own / "tls.crt", own / "tls.key", own / "ca.crt")


@asynccontextmanager
async def solving(place: Place, *may: str):
    server = SolverServer(
        SchedulerConfiguration(),
        ServeOptions(
            ListenAddress("127.0.0.1", 0), tls=place.give("firmament"), clients=parse_clients(may or (MAY,))
        ),
    )
    address = await server.start()
    try:
        yield str(address)
    finally:
        await server.stop(drain_seconds=1.0)


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def with_tls(files: TlsFiles):
    return replace(QUICK, tls=files, tls_check_seconds=0.05)


async def test_pods_are_placed_over_an_encrypted_stream(place):
    async with solving(place) as target:
        options = with_tls(place.give("poseidon", "DNS:other"))
        async with driving(target, "mine", options=options) as driver:
            driver.submit("p")
            await until(lambda: driver.peer.placed)


@pytest.mark.parametrize("good", [(-2 * DAY, -DAY), (DAY, 2 * DAY)], ids=["no more", "not yet"])
async def test_a_certificate_is_good_for_its_time(place, good):
    async with solving(place) as target:
        async with driving(target, "mine", options=with_tls(place.give("poseidon", good=good))) as driver:
            await until(lambda: (driver.metric("poseidon_solver_stream_errors_total") or 0) >= 2)
            assert driver.metric("poseidon_solver_streams_total") == 0
        async with driving(target, "mine", options=with_tls(place.give("poseidon"))) as driver:
            await until(lambda: driver.session.is_open)


@pytest.mark.parametrize("options", ["none", "foreign"])
async def test_who_shows_no_certificate_of_the_authority_gets_no_stream(place, options):
    async with solving(place) as target:
        foreign = place.give("poseidon", by=place.new_authority("other"))
        given = QUICK if options == "none" else with_tls(foreign)
        async with driving(target, "mine", options=given) as driver:
            await until(lambda: (driver.metric("poseidon_solver_stream_errors_total") or 0) >= 2)
            assert driver.metric("poseidon_solver_streams_total") == 0


async def test_simulated_workloads_are_submitted_with_a_certificate_and_not_without(place):
    files = place.give("poseidon")
    shown = [
        *("--tls-cert", str(files.certificate)),
        *("--tls-key", str(files.key)),
        *("--tls-ca", str(files.authority)),
    ]
    async with solving(place) as target:
        command = ["submit", "--target", target, "--cluster", "mine", "--nodes", "3", "--tasks", "20"]
        run = [*command, "--connect-timeout", "2", "-o", "json"]
        done = await asyncio.to_thread(CliRunner().invoke, firmament, [*run, *shown])
        assert done.exit_code == 0, done.output
        refused = await asyncio.to_thread(CliRunner().invoke, firmament, run)
        assert refused.exit_code == 1
        assert "--tls-cert" in refused.stderr


async def test_a_bridge_does_not_talk_to_a_solver_of_another_authority(place):
    async with solving(place) as target:
        other = place.new_authority("other")
        files = place.give("poseidon", trusted=other)
        async with driving(target, "mine", options=with_tls(files)) as driver:
            await until(lambda: (driver.metric("poseidon_solver_stream_errors_total") or 0) >= 2)
            assert driver.metric("poseidon_solver_streams_total") == 0


async def test_a_bridge_does_not_talk_to_who_is_not_the_host_that_it_asked_for(place):
    async with solving(place) as target:
        files = place.give("poseidon")
        wrong = target.replace("127.0.0.1", "localhost")  # the certificate is for the address
        async with driving(wrong, "mine", options=with_tls(files)) as driver:
            await until(lambda: (driver.metric("poseidon_solver_stream_errors_total") or 0) >= 2)
            assert driver.metric("poseidon_solver_streams_total") == 0


@pytest.mark.parametrize("cluster", ["theirs", "mineral", "min", "mi"])
async def test_a_certificate_is_good_for_the_clusters_of_its_name(place, cluster):
    async with solving(place) as target:
        options = with_tls(place.give("poseidon"))
        async with driving(target, cluster, options=options) as driver:
            await until(lambda: driver.metric("poseidon_solver_refused") == 1)
            assert driver.metric("poseidon_solver_streams_total") == 0


@pytest.mark.parametrize(
    ("name", "alternative", "cluster", "may"),
    [
        ("poseidon", "", "mine.needs.host.1", MAY),
        ("other", "DNS:poseidon", "mine", MAY),
        ("poseidon", "", "whichever", "poseidon=*"),
    ],
    ids=["observers", "alternative names", "any"],
)
async def test_names_and_clusters_that_are_allowed(place, name, alternative, cluster, may):
    async with solving(place, may) as target:
        options = with_tls(place.give(name, alternative))
        async with driving(target, cluster, options=options) as driver:
            await until(lambda: driver.session.is_open)


async def test_questions_about_clusters_of_others_are_refused_and_their_names_kept(place):
    async with solving(place, MAY, "theirs=theirs") as target:
        own, other = place.give("poseidon"), place.give("theirs")
        async with driving(target, "mine", options=with_tls(own)) as driver:
            await until(lambda: driver.session.is_open)

            def ask(files: TlsFiles, cluster: str):
                with solver_client(target, 5.0, files) as client:
                    return client.clusters() if not cluster else client.state(cluster)

            assert await asyncio.to_thread(ask, own, "")
            assert not await asyncio.to_thread(ask, other, "")
            with pytest.raises(QuestionError, match="PERMISSION_DENIED"):
                await asyncio.to_thread(ask, other, "mine")


async def test_both_sides_follow_an_authority_that_is_replaced(place):
    """Files of both are replaced by those of another authority: the same processes talk to each other by them."""
    async with solving(place) as target:
        files = place.give("poseidon")
        async with driving(target, "mine", options=with_tls(files)) as driver:
            await until(lambda: driver.session.is_open)
            former = files.read()
            other = place.new_authority("other")
            place.give("firmament", by=other, trusted=other)
            place.give("poseidon", by=other, trusted=other)
            await until(lambda: (driver.metric("poseidon_solver_streams_total") or 0) >= 2)
            driver.submit("p")
            await until(lambda: driver.peer.placed)
            # What was good before is so no more.
            async with aio.secure_channel(target, former.channel_credentials()) as channel:
                with pytest.raises(aio.AioRpcError) as refused:
                    await pb_grpc.SchedulerStub(channel).ListState(pb.ListStateRequest(), timeout=stretch(5))
                assert refused.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_files_that_vanish_end_nothing_that_works(place):
    async with solving(place) as target:
        files = place.give("poseidon")
        async with driving(target, "mine", options=with_tls(files)) as driver:
            await until(lambda: driver.session.is_open)
            files.certificate.unlink()
            with pytest.raises(TlsError, match=r"tls\.crt: No such file"):
                files.read()
            driver.submit("p")
            await until(lambda: driver.peer.placed)
            assert driver.metric("poseidon_solver_streams_total") == 1


async def test_both_programs_and_those_who_ask_take_files_as_options(tmp_path):
    (tmp_path / "certificates").mkdir()
    place = Place(tmp_path / "certificates")
    own = flags(place.give("poseidon"))
    async with scene(tmp_path) as s:
        may = f"--tls-client=poseidon={tmp_path.name}"
        s.stack._options = replace(
            s.stack._options, more_for_solver=(*flags(place.give("firmament")), may), more_for_bridge=own
        )
        await s.nodes(1)
        await s.pods(["one"])
        await s.stack.start_solver()
        await s.stack.start_bridge()
        await s.until_bound(1)
        asked = ["get", "tasks", "--target", s.stack.solver_address]
        answer = await asyncio.to_thread(CliRunner().invoke, firmament, [*asked, *own])
        assert (answer.exit_code, "default/one" in answer.output) == (0, True), answer.output
        assert (await asyncio.to_thread(CliRunner().invoke, firmament, asked)).exit_code == 1


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (("firmament", "serve", "--tls-cert=x"), "give all three"),
        (("firmament", "serve", "--tls-client=a=b"), "go together"),
        (("firmament", "serve", "--tls-cert=x", "--tls-key=x", "--tls-ca=x"), "x: No such file"),
        (("firmament", "get", "clusters", "--tls-key=x"), "give all three"),
        (("poseidon", "run", "--tls-ca=x"), "give all three"),
    ],
)
async def test_options_that_make_no_sense_are_refused_in_one_line(tmp_path, command, says):
    write_kubeconfig(tmp_path / "kubeconfig", "http://127.0.0.1:9")
    program, *arguments = command
    more = [f"--kubeconfig={tmp_path / 'kubeconfig'}"] if program == "poseidon" else []
    # A process, as these commands say for the whole of theirs what is logged.
    child = Child(program, program, [*arguments, *more], tmp_path / "log", preloaded.fork)
    await child.start()
    assert await child.wait() == 2, child.tail()
    assert says in child.log.read_text()
    assert len(child.log.read_text().splitlines()) == 1


@pytest.mark.parametrize("text", ["poseidon", "=mine", "poseidon="])
def test_a_client_without_name_or_cluster_is_refused(text):
    with pytest.raises(TlsError, match="is not NAME=CLUSTER"):
        parse_clients([text])
