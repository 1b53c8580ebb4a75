"""Suites whose bundles and results are in object storage: a server on this machine that speaks S3."""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from moto.server import ThreadedMotoServer

from eikon_engine.cli.suite import suite_command
from eikon_engine.errors import BundlePathError, NoMissionsError, OutputError, RequirementError, TraceError, UsageError
from eikon_engine.outcome.suite_results import SuiteResult
from eikon_engine.suite.stored_bundles import StoredBundles
from eikon_engine.suite.stored_results import StoredResultsFolder
from eikon_engine.trace.find_bundles import find_bundle_folders, find_bundles
from tests.commands import run_here
from tests.suite.bundles import copy_bundle, write_head
from tests.until import GENEROUS_S, wait_until

DENY_WRITES = {"Statement": [{"Effect": "Deny", "Principal": "*", "Action": "s3:PutObject", "Resource": "*"}]}


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a server; clients of S3 are cached, and would keep the address of an earlier one."""
    fsspec.get_filesystem_class("s3").clear_instance_cache()
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    logging.getLogger("werkzeug").setLevel(logging.INFO)
    logging.getLogger("werkzeug").addHandler(logging.NullHandler())
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        patch.setenv("AWS_ACCESS_KEY_ID", "anyone")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "anything")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def storage(endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return the file system, with an empty bucket; the cache and the working directory are folders of the test."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    system = fsspec.filesystem("s3")
    system.mkdir("missions")
    yield system
    post(f"{endpoint}/moto-api/reset", b"")
    system.invalidate_cache()


def post(url: str, data: bytes) -> None:
    """Change the server."""
    request = urllib.request.Request(url, data, {"Content-Type": "text/plain"}, method="POST")  # noqa: S310 - ours
    with urllib.request.urlopen(request):  # noqa: S310 - as above
        pass


def put(storage: Any, folder: Path, place: str) -> None:  # noqa: ANN401 - fsspec has no types
    """Upload a folder."""
    for path in folder.rglob("*"):
        if path.is_file():
            storage.pipe_file(f"{place}/{path.relative_to(folder).as_posix()}", path.read_bytes())


def put_bundles(storage: Any, tmp_path: Path, *names: str, source: str = "shop_failing") -> None:  # noqa: ANN401
    """Upload small bundles below missions/traces."""
    for name in names:
        put(storage, copy_bundle(source, tmp_path / "recorded" / name), f"missions/traces/{name}")


def suite(*words: object) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    return run_here(suite_command, ["run", *words], "eikon suite")


def gets(records: Iterable[logging.LogRecord], key: str) -> list[str]:
    """Return the requests that read a file with this in its key."""
    lines = (each.getMessage() for each in records)
    return [line for line in lines if "GET /missions/" in line and key in line and "list-type" not in line]


@pytest.mark.browser
def test_bundles_and_results_are_in_object_storage(
    storage: Any,  # noqa: ANN401
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The second run downloads only what changed, and moves the results of the first aside."""
    put_bundles(storage, tmp_path, "good", "sub/other")
    put_bundles(storage, tmp_path, "bad", source="shop_diverging")
    words = ("s3://missions/traces", "--artifacts-dir", "s3://missions/results/", "-j", "1")

    first = suite(*words)
    downloads = len(gets(caplog.records, "/traces/"))
    caplog.clear()
    storage.pipe_file("missions/traces/good/notes.txt", b"new")
    failed = suite(*words, "--last-failed")
    repeated = gets(caplog.records, "/traces/")
    caplog.clear()
    only = suite(*words, "--include", "*/good")

    assert first.returncode == failed.returncode == 1, first.stderr + failed.stderr
    assert first.stdout.endswith("report: s3://missions/results/suite.html\n")
    assert (downloads > 0, repeated) == (True, [])
    assert only.returncode == 0, only.stderr
    assert len(gets(caplog.records, "/traces/good/trace.json")) == 1
    before, last = (
        SuiteResult.model_validate_json(storage.cat_file(f"missions/results{number}/suite.json"))
        for number in (".1", ".2")
    )
    assert [(each.name, each.verdict) for each in before.results] == [
        ("s3://missions/traces/bad", "diverged"),
        ("s3://missions/traces/good", "faithful"),
        ("s3://missions/traces/sub/other", "faithful"),
    ]
    assert [each.name for each in last.results] == ["s3://missions/traces/bad"]
    for each in before.results:
        assert storage.exists(f"missions/results.1/{each.artifacts}/outcome.json")
    names = {path.rpartition("/")[2] for path in storage.find("missions/results", maxdepth=1)}
    assert names == {"suite.html", "triage.html", "junit.xml", "suite.json", "results.jsonl"}
    assert list((tmp_path / "cache/eikon/suites").iterdir()) == []
    assert list((tmp_path / "here").iterdir()) == []


@pytest.mark.browser
def test_an_interrupted_suite_is_uploaded_and_resumed_elsewhere(storage: Any, tmp_path: Path) -> None:  # noqa: ANN401
    """What was replayed is not replayed again, on a machine that has nothing of it."""
    put_bundles(storage, tmp_path, "a", "b")
    put_bundles(storage, tmp_path, "c", source="shop_diverging")
    words = ["suite", "run", "s3://missions/traces", "--artifacts-dir", "s3://missions/out", "-j", "1", "--repeat", "2"]
    command = [sys.executable, "-m", "eikon_engine", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wait_until(lambda: storage.exists("missions/out/results.jsonl"), "the first result", GENEROUS_S)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=GENEROUS_S)
    left = SuiteResult.model_validate_json(storage.cat_file("missions/out/suite.json"))
    shutil.rmtree(tmp_path / "cache")
    storage.invalidate_cache()

    resumed = run_here(suite_command, [*words[1:], "--resume"], "eikon suite")

    assert process.returncode == 130
    assert errors.splitlines()[-1] == "eikon: stopped by the user (code interrupted)"
    assert left.ended_early == "interrupted"
    assert resumed.returncode == 1, resumed.stderr
    storage.invalidate_cache()
    whole = SuiteResult.model_validate_json(storage.cat_file("missions/out/suite.json"))
    assert len(whole.results) == 6
    assert set(left.results) <= set(whole.results)
    assert b"cannot be read" not in storage.cat_file("missions/out/triage.html")
    assert all(storage.exists(f"missions/out/{each.artifacts}/outcome.json") for each in whole.results)


@pytest.mark.browser
def test_shards_in_object_storage_are_merged(storage: Any, tmp_path: Path) -> None:  # noqa: ANN401
    """Into a folder or a bucket, with the artifacts of what failed."""
    put_bundles(storage, tmp_path, "good")
    put_bundles(storage, tmp_path, "bad", source="shop_diverging")
    for shard in ("1", "2"):
        suite("s3://missions/traces", "--shard", f"{shard}/2", "--artifacts-dir", f"s3://missions/out{shard}")
    parts = ["s3://missions/out1", "s3://missions/out2/"]

    for folder in ("all", "s3://missions/all"):
        merged = run_here(suite_command, ["merge", *parts, "--artifacts-dir", folder], "eikon suite")
        assert (merged.returncode, "2 replays: 1 faithful, 1 diverged" in merged.stdout) == (1, True)
    local = run_here(suite_command, ["merge", "all", "--artifacts-dir", "s3://missions/other"], "eikon suite")

    page = Path("all/suite.html").read_text()
    (report,) = Path("all").rglob("report.html")
    assert f'href="{report.relative_to("all").as_posix()}"' in page
    assert "bad" in Path("all/triage.html").read_text()
    assert storage.cat_file("missions/all/suite.html").decode() == page
    assert storage.exists(f"missions/all/{report.relative_to('all').as_posix()}")
    assert (local.returncode, "expected the URLs of results to merge there, got all" in local.stderr) == (2, True)


@pytest.mark.browser
def test_results_that_cannot_be_uploaded_stay(storage: Any, tmp_path: Path) -> None:  # noqa: ANN401
    """One line says where; the exit status is that of an output that cannot be written."""
    put_bundles(storage, tmp_path, "a")
    storage.mkdir("readonly")
    storage.call_s3("put_bucket_policy", Bucket="readonly", Policy=json.dumps(DENY_WRITES))

    done = suite("s3://missions/traces", "--artifacts-dir", "s3://readonly/out", "-j", "1")

    assert done.returncode == OutputError.exit_status
    (line,) = done.stderr.splitlines()
    assert line.startswith("s3://readonly/out: cannot be written: ")
    folder = Path(line.rpartition("; the results are in ")[2])
    assert SuiteResult.model_validate_json((folder / "suite.json").read_bytes()).exit_status == 0


@pytest.mark.parametrize(
    "key", ["a/../../../trace.json", "a//etc/passwd", "a/dom\\x.zst", "a/./x.txt", "a/\u202etxt", "../x/trace.json"]
)
def test_a_hostile_name_is_refused(storage: Any, tmp_path: Path, key: str) -> None:  # noqa: ANN401
    """Nothing is downloaded."""
    put(storage, write_head(tmp_path / "a"), "missions/traces/a")
    storage.pipe_file(f"missions/traces/{key}", b"{}")

    done = suite("s3://missions/traces", "--artifacts-dir", tmp_path / "out")

    assert done.returncode == BundlePathError.exit_status
    assert len(done.stderr.splitlines()) == 1
    assert repr(key) in done.stderr
    assert not (tmp_path / "cache").exists()
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("url", "message", "status"),
    [
        ("s3://absent/traces", "eikon suite: s3://absent/traces: not found: ", UsageError.exit_status),
        (
            "s3://missions/absent",
            "eikon suite: s3://missions/absent: expected bundles in or ",
            NoMissionsError.exit_status,
        ),
        ("nope://x/traces", "eikon suite: nope://x/traces: expected the URL of a folder ", UsageError.exit_status),
        ("s3://", "eikon suite: expected the URL of a folder such as s3://", UsageError.exit_status),
        (
            "s3://me:hidden@missions/x",
            "eikon suite: expected a URL without a user, got s3://…@",
            UsageError.exit_status,
        ),
        ("gs://missions/traces", "eikon suite: gs://missions/traces: missing library (", RequirementError.exit_status),
    ],
)
def test_a_url_that_leads_nowhere_is_one_line(storage: Any, url: str, message: str, status: int) -> None:  # noqa: ANN401
    """Of bundles and of results."""
    done = suite(url)

    assert (done.returncode, len(done.stderr.splitlines())) == (status, 1), done.stderr
    assert done.stderr.startswith(message)
    assert "hidden" not in done.stderr


def test_storage_without_access_is_one_line(storage: Any, endpoint: str, tmp_path: Path) -> None:  # noqa: ANN401
    """The server does not know the key."""
    put(storage, write_head(tmp_path / "a"), "missions/traces/a")
    post(f"{endpoint}/moto-api/reset-auth", b"0")
    try:
        bundles = suite("s3://missions/traces")
        results = suite(write_head(tmp_path / "b"), "--artifacts-dir", "s3://missions/out")
    finally:
        post(f"{endpoint}/moto-api/reset-auth", b"inf")

    for done in (bundles, results):
        assert (done.returncode, len(done.stderr.splitlines())) == (RequirementError.exit_status, 1), done.stderr
        assert ": no access: " in done.stderr


def test_other_files_are_not_moved_in_a_bucket(storage: Any, tmp_path: Path) -> None:  # noqa: ANN401
    """A folder that is no suite's stays."""
    storage.pipe_file("missions/out/notes.txt", b"mine")

    done = suite(write_head(tmp_path / "a"), "--artifacts-dir", "s3://missions/out")

    assert done.returncode == OutputError.exit_status
    assert "holds files that are no results of a suite (notes.txt)" in done.stderr


def test_a_suite_that_cannot_resume_changes_nothing_in_a_bucket(storage: Any, tmp_path: Path) -> None:  # noqa: ANN401
    """Neither one that was never begun, nor one of other options."""
    words = (write_head(tmp_path / "a"), "--artifacts-dir", "s3://missions/out", "--suite-timeout", "1e-9")
    absent = suite(*words, "--resume")
    suite(*words)
    before = {path: info["ETag"] for path, info in storage.find("missions", detail=True).items()}

    other = suite(*words, "--resume", "--repeat", "2")

    assert absent.returncode == other.returncode == UsageError.exit_status
    assert "--resume expected a suite that was interrupted, got no results.jsonl" in absent.stderr
    assert "--resume expected the same missions and options as before" in other.stderr
    storage.invalidate_cache()
    assert {path: info["ETag"] for path, info in storage.find("missions", detail=True).items()} == before != {}
    assert list((tmp_path / "cache/eikon/suites").iterdir()) == []


def test_revisions_of_git_are_for_folders(storage: Any, tmp_path: Path) -> None:  # noqa: ANN401
    """A bucket has none."""
    put(storage, write_head(tmp_path / "a"), "missions/traces/a")

    done = suite("s3://missions/traces", "--changed-since", "HEAD")

    assert done.returncode == UsageError.exit_status
    assert "--changed-since expected bundles in a working tree of git, got s3://missions/traces/a" in done.stderr


def test_tags_and_shards_are_as_for_folders(storage: Any, tmp_path: Path) -> None:  # noqa: ANN401
    """The configuration is that of the working directory; only a part is downloaded."""
    for number in range(4):
        put(storage, write_head(tmp_path / f"m{number}", seconds=10 * number + 1), f"missions/traces/m{number}")
    Path("eikon.toml").write_text('[[bundles]]\nmatch = ["traces/m1", "traces/m2", "traces/m3"]\ntags = ["smoke"]\n')

    seen = [
        suite(
            "s3://missions/traces",
            "--tag",
            "smoke",
            "--shard",
            f"{number}/2",
            "--json",
            "--suite-timeout",
            "1e-9",
            "--artifacts-dir",
            f"out{number}",
        )
        for number in (1, 2)
    ]

    assert {done.stderr for done in seen} == {""}
    parts = [[each["name"].rpartition("/")[2] for each in json.loads(done.stdout)["planned"]] for done in seen]
    assert parts == [["m3"], ["m1", "m2"]]
    assert len(list((tmp_path / "cache/eikon/bundles").iterdir())) == 3


@pytest.mark.parametrize("protocol", ["memory", "file"])
def test_any_file_system_of_fsspec_will_do(protocol: str, tmp_path: Path) -> None:
    """Bundles are read and results written without S3."""
    root = f"memory://{tmp_path.name}" if protocol == "memory" else tmp_path.as_uri()
    system, place = fsspec.core.url_to_fs(root)
    (tmp_path / "source").mkdir()
    write_head(tmp_path / "source" / "a")
    if protocol == "memory":
        put(system, tmp_path / "source", f"{place}/source")
    stored = StoredBundles(tmp_path / "cache", tmp_path)

    (mission,) = stored.find(f"{root}/source/a/trace.json")
    stored.download([mission])
    results = StoredResultsFolder(f"{root}/out", tmp_path / "cache", resumes=False)
    with results.completing():
        (results.folder / "missions").mkdir()
        (results.folder / "missions" / "x.txt").write_text("x")

    assert mission.name == f"{root}/source/a"
    assert (mission.bundle / "trace.json").read_bytes() == (tmp_path / "source/a/trace.json").read_bytes()
    assert stored.seconds_of([mission]) == {mission.name: 1.0}
    assert results.failure == ""
    assert system.cat_file(f"{place}/out/missions/x.txt") == b"x"


def test_a_bundle_that_changes_meanwhile_is_not_kept(tmp_path: Path) -> None:
    """Its digest would not be that of its files."""
    write_head(tmp_path / "a")
    stored = StoredBundles(tmp_path / "cache", tmp_path)
    (mission,) = stored.find((tmp_path / "a").as_uri())
    write_head(tmp_path / "a", seconds=100)

    with pytest.raises(TraceError, match="the bundle changed while it was downloaded"):
        stored.download([mission])

    assert list((tmp_path / "cache/bundles").iterdir()) == []


def test_listed_files_are_bundles_as_folders_are(tmp_path: Path) -> None:
    """What is found on disk is found in a listing."""
    blob = f"{'0' * 64}.zst"
    names = ["b/trace.json", "b/inner/trace.json", f"a/x/dom/{blob}", "a/dom/notes.txt", "c/trace.jsonl", "d/files/x"]
    names += ["b.unfinished-1/trace.jsonl", "e/f/certificate.json", "notes.txt"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()

    found = find_bundle_folders(names)

    assert found == tuple(each.relative_to(tmp_path).as_posix() for each in find_bundles([tmp_path]))
    assert found[:2] == ("a/x", "b")


def test_a_suite_without_urls_does_not_import_fsspec() -> None:
    """It is an extra, and slow to import."""
    modules = "eikon_engine.suite.stored_bundles, eikon_engine.suite.stored_results"
    code = f"import sys, {modules}; print('fsspec' in sys.modules)"

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=dict(os.environ)
    )

    assert done.stdout == "False\n"
