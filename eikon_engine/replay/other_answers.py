"""Open the recorded network that serves a replay: the bundle's own, another bundle's, or a HAR file."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from eikon_engine.errors import RecordedNetworkMissingError
from eikon_engine.network.har_import import import_har
from eikon_engine.network.retimed import apply_timeline
from eikon_engine.network.store import read_network
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.bundle_path import resolve_inside
from eikon_engine.trace.redaction import Redactor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.network.store import NetworkRecording
    from eikon_engine.replay.options import ReplayOptions
    from eikon_engine.trace.bundle import Bundle


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSource:
    """Another recorded network, with the warnings of its reader."""

    recording: NetworkRecording
    warnings: tuple[str, ...] = ()


def recorded_network(bundle: Bundle) -> NetworkRecording | None:
    """Read the recorded network of a bundle; None if it has none."""
    if bundle.trace.network is None:
        return None
    read = read_network(resolve_inside(bundle.root, bundle.trace.network.folder, "network.folder"))
    return apply_timeline(read, bundle.trace.network.timeline)


@contextmanager
def open_network_source(options: ReplayOptions) -> Iterator[NetworkSource | None]:
    """Open the HAR or bundle of the options; None if neither is set.

    A HAR is imported into a temporary folder that is removed at the end of the block.

    Raises:
        TraceError: it cannot be read; see `import_har` and `open_bundle`.
        RecordedNetworkMissingError: the bundle has no recorded network.
    """
    if options.responses_from is not None:
        recording = recorded_network(open_bundle(options.responses_from))
        if recording is None:
            message = f"{options.responses_from}: --responses-from expects a bundle with a recorded network, but this one has none"
            raise RecordedNetworkMissingError(message)
        yield NetworkSource(recording=recording)
    elif options.har is not None:
        with TemporaryDirectory(prefix="eikon-har-") as folder:
            har = import_har(options.har, Path(folder), Redactor(options.secrets))
            yield NetworkSource(recording=har.recording, warnings=har.warnings)
    else:
        yield None
