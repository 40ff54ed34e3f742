"""Certificates of both programs, their authority and the bridge's token are replaced while pods come: none is lost."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from dataclasses import replace
from pathlib import Path

import grpc
import pytest
import yaml
from grpc import aio

from poseidon.testbed.api_server.bulk import create_object
from poseidon.testbed.api_server.options import ClusterOptions
from poseidon.testbed.objects.resources import PODS
from protos.conventions.tls import TlsFiles
from protos.firmament.v1 import scheduler_pb2 as pb
from protos.firmament.v1 import scheduler_pb2_grpc as pb_grpc
from tests.deploy.manifests import everything
from tests.programs.end_to_end.scene import Scene, scene
from tests.support.certificates import Certificate, flags, make_authority, sign
from tests.support.time_limits import stretch
from tests.support.waiting import until

PAUSE = 0.05


class Files:
    """The folders of both programs' certificates, replaced file by file as a kubelet replaces those of Secrets."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir()
        for name in ("firmament", "poseidon"):
            (folder / name).mkdir()

    def of(self, name: str) -> TlsFiles:
        own = self._folder / name
        return TlsFiles(own / "tls.crt", own / "tls.key", own / "ca.crt")

    def authority(self, name: str) -> Certificate:
        return make_authority(self._folder, name)

    def trust(self, *authorities: Certificate) -> None:
        text = b"".join(each.certificate.read_bytes() for each in authorities)
        for name in ("firmament", "poseidon"):
            self._put(self.of(name).authority, text)

    def certify(self, authority: Certificate) -> None:
        for name in ("firmament", "poseidon"):
            made = sign(authority, self._folder, name, "IP:127.0.0.1")
            # The key first: a pair that does not match for a moment is read again.
            self._put(self.of(name).key, made.key.read_bytes())
            self._put(self.of(name).certificate, made.certificate.read_bytes())

    @staticmethod
    def _put(path: Path, content: bytes) -> None:
        temporary = path.with_suffix(".new")
        temporary.write_bytes(content)
        shutil.move(temporary, path)


class Token:
    """The bridge's token: a file that its kubeconfig names."""

    def __init__(self, s: Scene, folder: Path) -> None:
        self._scene, self._path = s, folder / "token"
        for each in everything():
            if each["kind"] not in ("NetworkPolicy", "Deployment", "Service", "ConfigMap"):
                create_object(s.operations, each)
        self.renew()
        document = yaml.safe_load(s.stack.kubeconfig.read_text())
        document["users"][0]["user"] = {"tokenFile": str(self._path)}
        s.stack.kubeconfig.write_text(yaml.safe_dump(document))

    def renew(self) -> None:
        """Write another token; the one before is good no more."""
        accounts = self._scene.cluster.accounts
        accounts.revoke_all()
        self._path.write_text(accounts.issue("poseidon", "poseidon", 3600.0)[0])


@pytest.mark.timeout(180)
async def test_nothing_is_lost_while_everything_is_replaced(tmp_path):
    files = Files(tmp_path / "certificates")
    first, second = files.authority("first"), files.authority("second")
    files.trust(first)
    files.certify(first)
    async with scene(tmp_path, ClusterOptions(token="administrator")) as s:
        s.stack._options = replace(
            s.stack._options,
            more_for_solver=(*flags(files.of("firmament")), f"--tls-client=poseidon={tmp_path.name}"),
            more_for_bridge=flags(files.of("poseidon")),
        )
        token = Token(s, tmp_path)
        await s.nodes(20)
        await s.stack.start_solver()
        former = files.of("poseidon").read()
        await s.stack.start_bridge()
        coming = asyncio.create_task(pods_come(s))
        try:
            await until(lambda: s.count_bound() >= 10, within=30.0)
            files.trust(first, second)
            files.certify(second)
            token.renew()
            await until(lambda: s.log("bridge").count("stream open") >= 2, within=40.0)
            files.trust(second)
            token.renew()
            bound = s.count_bound()
            await until(lambda: s.count_bound() >= bound + 50, within=40.0)
        finally:
            coming.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await coming
        await s.until_bound(len(s.listed(PODS)))
        s.check_sound()
        # What was good before is so no more.
        async with aio.secure_channel(s.stack.solver_address, former.channel_credentials()) as channel:
            with pytest.raises(aio.AioRpcError) as refused:
                await pb_grpc.SchedulerStub(channel).ListState(pb.ListStateRequest(), timeout=stretch(5))
            assert refused.value.code() is grpc.StatusCode.UNAVAILABLE


async def pods_come(s: Scene) -> None:
    number = 0
    while True:
        await s.pods([f"p-{number}"], cpu="10m")
        number += 1
        await asyncio.sleep(PAUSE)
