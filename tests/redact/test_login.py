"""A recorded login contains nothing that grants access, and still replays."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from eikon_engine.certify.certify import certify
from eikon_engine.certify.options import CertifyOptions
from eikon_engine.record import RecordOptions, open_recorder
from eikon_engine.redact.scan import find_in_files
from eikon_engine.secrets.encodings import ENCODINGS
from eikon_engine.trace.bundle import open_bundle
from tests.missions.login import see_the_account
from tests.replay.conftest import replay
from tests.replay.shared_browsers import SHARED
from tests.sites.login import PASSWORD, serve_login

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = pytest.mark.browser


class Recorded(NamedTuple):
    """A bundle, and the values that the site issued while it was recorded."""

    bundle: Path
    given: Mapping[str, str]


@pytest.fixture(scope="module", params=["stepped", "natural"])
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """Record the mission with each clock; the site is stopped afterwards."""
    folder = tmp_path_factory.mktemp(request.param) / "b"
    given = record(folder, RecordOptions(clock=request.param))
    return Recorded(folder, given)


def record(folder: Path, options: RecordOptions) -> Mapping[str, str]:
    """Record the mission on a fresh site, and return the issued values."""
    with serve_login() as site:

        async def drive() -> None:
            async with open_recorder(folder, mission_text="See the account", options=options) as mission:
                await see_the_account(mission, site.url)

        SHARED.run(drive())
        return {**site.given, "password": PASSWORD}


def left_in(folder: Path, values: Mapping[str, str]) -> set[str]:
    """Return the names of the values in the files below a folder, in any encoding, with decompressed blobs."""
    needles = {encode(value).encode(): name for name, value in values.items() for _, encode in ENCODINGS}
    return {needles[each] for each in find_in_files(folder, set(needles))}


def test_no_credential_is_in_any_file(recorded: Recorded, tmp_path: Path) -> None:
    """Bundle and artifacts have no password, cookie, code, token or key; the replay is faithful."""
    outcome = replay(recorded.bundle, tmp_path / "run", secrets={})

    assert left_in(recorded.bundle, recorded.given) == set()
    assert left_in(tmp_path / "run", recorded.given) == set()
    assert outcome.divergences == ()
    assert outcome.reasons == ()
    assert outcome.verdict == "faithful"


def test_the_bundle_can_be_certified_without_the_password(recorded: Recorded) -> None:
    """Without the site and any secret, all runs agree with the recording, and nothing is proposed."""
    certification = SHARED.run(certify(open_bundle(recorded.bundle), CertifyOptions(runs=2)))

    assert certification.report.status == "certified"
