"""The container image: built on a base that mmdebstrap makes of Debian's packages, with both demos run inside.

buildah runs commands in a chroot here, which needs root and no registry; docker, podman and apptainer are not tried.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import ROOT

pytestmark = [
    pytest.mark.image,
    pytest.mark.timeout(7200),
    pytest.mark.skipif(not (shutil.which("mmdebstrap") and shutil.which("buildah")), reason="no mmdebstrap or buildah"),
    pytest.mark.skipif(os.geteuid() != 0, reason="a base is made as root"),
]
BASE, IMAGE = "localhost/gpd-test-base", "localhost/gpd-test"
OWN_CERTIFICATES = Path("/usr/local/share/ca-certificates")  # of the network that packages come through

Inside = Callable[..., subprocess.CompletedProcess[str]]


def ran(*command: str | Path) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout[-4000:]}{done.stderr[-4000:]}"
    return done.stdout.strip()


def make_base(archive: Path) -> None:
    ran("mmdebstrap", "--variant=minbase", "bookworm", archive)
    container = ran("buildah", "from", "scratch")
    ran("buildah", "add", "--quiet", container, archive, "/")
    ran("buildah", "commit", "--quiet", "--rm", container, BASE)


@pytest.fixture(scope="module")
def inside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    """Run a command in a container of the image, with a folder as its /data."""
    folder = tmp_path_factory.mktemp("image")
    make_base(folder / "base.tar")
    certificates = f"--volume {OWN_CERTIFICATES}:{OWN_CERTIFICATES}:ro" if any(OWN_CERTIFICATES.glob("*.crt")) else ""
    arguments = [f"BASE={BASE}", f"IMAGE={IMAGE}", "BUILDER=buildah"]
    ran("make", "image", *arguments, f"IMAGE_ARGS=--isolation chroot {certificates}")
    container = ran("buildah", "from", IMAGE)
    data = folder / "data"
    data.mkdir()

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        words = ["buildah", "run", "--isolation", "chroot", "--volume", f"{data}:/data", container, "--", *command]
        return subprocess.run(words, capture_output=True, text=True, check=False)

    yield run
    ran("buildah", "rm", container)
    ran("buildah", "rmi", "--force", IMAGE, BASE)


def test_both_pipelines_can_run(inside: Inside) -> None:
    done = inside("gpd", "doctor")
    assert done.returncode == 0, done.stdout
    assert {"germline can run", "tuxedo can run"} <= {*done.stdout.splitlines()}


@pytest.mark.parametrize("pipeline", ["germline", "tuxedo"])
def test_the_demo_runs_and_finds_what_was_simulated(inside: Inside, pipeline: str) -> None:
    done = inside("gpd", "demo", pipeline)
    assert done.returncode == 0, f"{done.stdout[-4000:]}{done.stderr[-4000:]}"
