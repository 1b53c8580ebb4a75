"""Import the HAR that a replay is answered from, for as long as it runs."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from eikon_engine.network.har_import import HarImport, import_har
from eikon_engine.trace.redaction import Redactor

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@contextmanager
def har_source(har: Path | None, secrets: Mapping[str, str]) -> Iterator[HarImport | None]:
    """Import a HAR into a folder that is removed at the end of the block; None stays None.

    Raises:
        TraceError: the HAR cannot be read, see `import_har`.
    """
    if har is None:
        yield None
        return
    with TemporaryDirectory(prefix="eikon-har-") as folder:
        yield import_har(har, Path(folder), Redactor(secrets))
