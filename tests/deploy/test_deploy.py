"""What deploy/ has is consistent with the project. `deploy/check` carries it out, which takes minutes."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any, Protocol

import click
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from ruamel.yaml import YAML

from eikon_engine.cli.suite import suite_command
from eikon_engine.suite.object_storage import is_url
from eikon_engine.suite.ray_runner import ACTOR_PROCESSORS
from tests.architecture.sources import PROJECT

DEPLOY = PROJECT / "deploy"
INSTALL = DEPLOY / "install.sh"
PIN = re.compile(r"^([\w.-]+)==(\S+)$", re.MULTILINE)
GIB = 2
"""Memory for each actor, in GiB: docs/containers.md."""
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - of a container


class _Instruction(Protocol):
    """An instruction of the Containerfile."""

    @property
    def name(self) -> str: ...

    @property
    def text(self) -> str: ...


class _Recipe(Protocol):
    """What `deploy/check` reads in the Containerfile."""

    @property
    def instructions(self) -> tuple[_Instruction, ...]: ...

    def last(self, name: str) -> str: ...

    def words(self, name: str) -> list[str]: ...


def test_the_image_is_built_by_the_script_and_runs_as_a_user() -> None:
    """The only build step is the script that `deploy/check` can run too; suites do not run as root."""
    recipe = _recipe()

    assert [each.text for each in recipe.instructions if each.name == "RUN"] == [
        "sh /opt/eikon/source/deploy/install.sh"
    ]
    assert recipe.last("USER") == "1000:1000"
    assert recipe.words("ENTRYPOINT") == ["eikon"]
    assert {"/bundles", recipe.last("WORKDIR")} == set(recipe.words("VOLUME"))


def test_the_command_of_the_image_is_accepted() -> None:
    """The image's default command is one of ours."""
    _, command, *arguments = [*_recipe().words("ENTRYPOINT"), *_recipe().words("CMD")]

    assert command == "suite"
    assert _parse(arguments)["paths"] == (Path("/bundles"),)


def test_the_image_pins_its_browser_and_fonts() -> None:
    """The browser and each package of fonts have a version; the archive has a time."""
    arguments = _arguments()

    assert re.fullmatch(r"\d+(\.\d+){3}-\S+", arguments["CHROMIUM_VERSION"])
    assert all("=" in font for font in arguments["FONTS"].split())
    assert re.fullmatch(r"\d{8}T\d{6}Z", arguments["DEBIAN_SNAPSHOT"])


def test_every_dependency_is_pinned_to_a_version_that_the_project_supports() -> None:
    """Each dependency of the image has a version in constraints.txt, at least the lower bound of pyproject.toml."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pins = _pins()
    extras = _arguments()["EXTRAS"].split(",")

    asked = [*project["dependencies"], *(each for extra in extras for each in project["optional-dependencies"][extra])]
    unsupported = [
        text
        for text, wanted in ((text, Requirement(text)) for text in asked)
        if (name := canonicalize_name(wanted.name)) not in pins or not wanted.specifier.contains(pins[name])
    ]

    assert unsupported == []


def test_what_the_script_needs_is_what_the_recipe_sets() -> None:
    """The variables that the script requires are arguments of the build, and no other argument is unused."""
    required = set(re.findall(r'"\$\{(\w+):?\?\}"', INSTALL.read_text(encoding="utf-8")))

    assert required == set(_arguments()) - {"BASE"}


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_the_script_can_be_parsed(shell: str) -> None:
    """No shell finds a syntax error."""
    done = subprocess.run([shell, "-n", INSTALL], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


def test_packages_are_from_the_snapshot(tmp_path: Path) -> None:
    """With a snapshot, the archive of the base image is not used; signatures are checked."""
    for name in ("sources.list.d", "apt.conf.d"):
        (tmp_path / name).mkdir()
    (tmp_path / "sources.list.d" / "debian.sources").write_text("Types: deb\n", encoding="utf-8")
    script, _, _ = INSTALL.read_text(encoding="utf-8").partition('\nif [ -n "$DEBIAN_SNAPSHOT" ]')
    variables = {**_arguments(), "APT_FOLDER": str(tmp_path), "PATH": os.environ["PATH"]}

    subprocess.run(["sh", "-c", f"{script}\nuse_snapshot 20260102T030405Z"], env=variables, check=True)

    (sources,) = (tmp_path / "sources.list.d").iterdir()
    uris = re.findall(r"^URIs: .*/archive/(.*)$", sources.read_text(encoding="utf-8"), re.MULTILINE)
    assert uris == ["debian/20260102T030405Z", "debian-security/20260102T030405Z"]
    assert sources.read_text(encoding="utf-8").count("\nSigned-By: ") == 2


def test_the_job_runs_a_suite_from_object_storage_on_the_cluster() -> None:
    """Our command line accepts the job's command: bundles and results in object storage, actors of its cluster."""
    program, command, *arguments = shlex.split(_job()["entrypoint"])

    chosen = _parse(arguments)
    assert (program, command) == ("eikon", "suite")
    assert [is_url(path) for path in (*chosen["paths"], chosen["folder"])] == [True, True]
    assert (chosen["engine"], chosen["address"]) == ("ray", "auto")


def test_the_job_has_a_processor_and_memory_for_each_actor() -> None:
    """The workers have as many processors as the actors of the command claim; the head makes no replays."""
    cluster = _job()["rayClusterSpec"]
    (workers,) = cluster["workerGroupSpecs"]
    limits = _container(workers)["resources"]["limits"]

    actors = _parse(shlex.split(_job()["entrypoint"])[2:])["workers"]
    assert workers["replicas"] * int(limits["cpu"]) == actors * ACTOR_PROCESSORS
    assert limits["memory"] == f"{int(limits['cpu']) // ACTOR_PROCESSORS * GIB}Gi"
    assert cluster["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"


def test_the_job_has_the_version_of_ray_in_the_image() -> None:
    """Nodes of a cluster must have one version of Ray."""
    pins = _pins()

    assert Version(_job()["rayClusterSpec"]["rayVersion"]) == Version(pins["ray"])


def test_the_pods_of_the_job_have_what_browsers_and_bundles_need() -> None:
    """Head and workers share the folder of downloaded bundles, have shared memory, and are the image's user."""
    documents, cluster = _documents(), _job()["rayClusterSpec"]
    head, (workers,) = cluster["headGroupSpec"], cluster["workerGroupSpecs"]
    claims = {each["metadata"]["name"] for each in documents if each["kind"] == "PersistentVolumeClaim"}
    secrets = {each["metadata"]["name"] for each in documents if each["kind"] == "Secret"}

    for group in (head, workers):
        pod = group["template"]["spec"]
        volumes = {each["name"]: each for each in pod["volumes"]}
        mounts = {each["mountPath"]: volumes[each["name"]] for each in _container(group)["volumeMounts"]}
        assert mounts[SHARED_MEMORY]["emptyDir"]["medium"] == "Memory"
        assert mounts["/cache"]["persistentVolumeClaim"]["claimName"] in claims
        assert f"{pod['securityContext']['runAsUser']}:{pod['securityContext']['runAsGroup']}" == _recipe().last("USER")
        assert _container(group)["image"] == _container(head)["image"]
    assert workers["template"]["spec"]["securityContext"]["seccompProfile"] == {"type": "Unconfined"}
    assert {each["secretRef"]["name"] for each in _container(head)["envFrom"]} == secrets


def _recipe() -> _Recipe:
    """Return the Containerfile, as `deploy/check` reads it."""
    loader = SourceFileLoader("deploy_check", str(DEPLOY / "check"))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    check = module_from_spec(spec)
    sys.modules[loader.name] = check  # for its dataclasses
    loader.exec_module(check)
    recipe: _Recipe = check.Recipe(check.read_containerfile((DEPLOY / "Containerfile").read_text(encoding="utf-8")))
    return recipe


def _arguments() -> dict[str, str]:
    """Return the arguments of the build with their defaults."""
    return dict(each.text.split("=", maxsplit=1) for each in _recipe().instructions if each.name == "ARG")


def _pins() -> dict[str, str]:
    """Return the versions of Python packages in the image."""
    found = PIN.findall((DEPLOY / "constraints.txt").read_text(encoding="utf-8"))
    return {canonicalize_name(name): version for name, version in found}


def _documents() -> list[dict[str, Any]]:
    documents = list(YAML(typ="safe").load_all(DEPLOY / "rayjob.yaml"))
    return [json.loads(json.dumps(each)) for each in documents]


def _job() -> dict[str, Any]:
    (job,) = (each for each in _documents() if (each["apiVersion"], each["kind"]) == ("ray.io/v1", "RayJob"))
    spec: dict[str, Any] = job["spec"]
    return spec


def _container(group: Mapping[str, Any]) -> dict[str, Any]:
    container: dict[str, Any]
    (container,) = group["template"]["spec"]["containers"]
    return container


def _parse(arguments: list[str]) -> dict[str, Any]:
    """Return what `eikon suite` makes of arguments, without running it."""
    name, *rest = arguments
    command = suite_command.commands[name]
    return command.make_context(name, rest, parent=click.Context(suite_command)).params
