"""The database of all runs: SQLite, or whatever SQLAlchemy has a driver for. Several processes may use it at once.

A replay writes its run to a file (`pending`); the next process that opens the database stores the files that wait.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.util import CommandError
from pydantic import ValidationError

from eikon_engine.errors import HistoryError
from eikon_engine.files.writing import make_folders, open_new_file
from eikon_engine.history.pending import read_pending
from eikon_engine.history.runs import HistoryRun, Quarantine

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eikon_engine.history.pending import HistoryPlace

_LOG: Final = logging.getLogger(__name__)
_LAST_REVISION: Final = "0001"
"""The last migration."""
BUSY_S: Final = 5
"""Seconds to wait for a database that another process writes to, or that does not answer."""
_WRITES: Final = "eikon_writes"
"""Option of connections that are going to write."""
_CHUNK: Final = 500
"""Runs in one statement."""
_STORE_ATTEMPTS: Final = 3
"""Attempts to store runs, some of which another process may store at the same time."""
_LOCK_ID: Final = 0x45494B4F4E
"""Key of PostgreSQL's advisory lock for migrations: "EIKON" in ASCII."""


class _UtcDateTime(sa.TypeDecorator[datetime]):
    """A time in UTC; SQLite stores no zone."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:  # noqa: ARG002 - SQLAlchemy's signature
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:  # noqa: ARG002 - SQLAlchemy's signature
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


# Columns as the last migration leaves them; tests compare both.
METADATA: Final = sa.MetaData()
_RUNS: Final = sa.Table(
    "runs",
    METADATA,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("mission_id", sa.Text, nullable=False),
    sa.Column("trace_id", sa.Text, nullable=False),
    sa.Column("plan_digest", sa.String(64), nullable=False),
    sa.Column("build", sa.Text, nullable=False),
    sa.Column("network_mode", sa.String(16), nullable=False),
    sa.Column("verdict", sa.String(16), nullable=False),
    sa.Column("cause", sa.String(32), nullable=False),
    sa.Column("signature", sa.String(8), nullable=False),
    sa.Column("signature_text", sa.Text, nullable=False),
    sa.Column("started_at", _UtcDateTime, nullable=False),
    sa.Column("duration_ms", sa.Integer, nullable=False),
    sa.Column("path", sa.Text, nullable=False),
    sa.Index("runs_of_mission", "mission_id", "started_at"),
    sa.Index("runs_with_signature", "signature", "started_at"),
)
_QUARANTINES: Final = sa.Table(
    "quarantines",
    METADATA,
    sa.Column("mission_id", sa.Text, primary_key=True),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("since", sa.Date, nullable=False),
    sa.Column("until", sa.Date, nullable=False),
)


class History:
    """An open database of runs."""

    def __init__(self, engine: sa.Engine, place: HistoryPlace) -> None:
        """Use a database whose tables are there."""
        self._engine = engine
        self._place = place

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()

    def store_pending(self) -> tuple[str, ...]:
        """Store the runs that wait; return the names of files that cannot be read, which stay where they are.

        Raises:
            HistoryError: the database cannot be written. The runs wait on.
        """
        read = list(read_pending(self._place))
        waiting = [(file, run) for file, run in read if run is not None]
        self.add([run for _, run in waiting])
        for file, _ in waiting:
            file.unlink(missing_ok=True)
        return tuple(file.name for file, run in read if run is None)

    def add(self, runs: Sequence[HistoryRun]) -> None:
        """Store runs; those that are stored already are left as they are.

        Raises:
            HistoryError: the database cannot be written.
        """
        for start in range(0, len(runs), _CHUNK):
            chunk = {run.id: run for run in runs[start : start + _CHUNK]}
            for attempt in range(1, _STORE_ATTEMPTS + 1):
                try:
                    self._insert_new(chunk)
                except sa.exc.IntegrityError as error:  # another process was faster
                    if attempt == _STORE_ATTEMPTS:
                        _raise_unusable(self._engine.url, error)
                else:
                    break

    def _insert_new(self, runs: Mapping[str, HistoryRun]) -> None:
        with self._transaction(writes=True) as connection:
            known = set(connection.scalars(sa.select(_RUNS.c.id).where(_RUNS.c.id.in_(list(runs)))))
            rows = [run.model_dump(exclude={"history_run_version"}) for name, run in runs.items() if name not in known]
            if rows:
                connection.execute(sa.insert(_RUNS), rows)

    def last_runs(self, limit: int, mission_id: str | None = None) -> dict[str, list[HistoryRun]]:
        """Return at most `limit` runs of each mission, or of one, by mission, the last run first."""
        place = sa.func.row_number().over(
            partition_by=_RUNS.c.mission_id, order_by=(_RUNS.c.started_at.desc(), _RUNS.c.id)
        )
        ranked = sa.select(_RUNS, place.label("place"))
        if mission_id is not None:
            ranked = ranked.where(_RUNS.c.mission_id == mission_id)
        inner = ranked.subquery()
        columns = [inner.c[column.name] for column in _RUNS.c]
        query = sa.select(*columns).where(inner.c.place <= limit).order_by(inner.c.mission_id, inner.c.place)
        found: defaultdict[str, list[HistoryRun]] = defaultdict(list)
        with self._transaction() as connection:
            for row in connection.execute(query).mappings():
                found[row["mission_id"]].append(HistoryRun.model_validate(dict(row)))
        return dict(found)

    def runs_with(self, signature: str, before: datetime) -> list[HistoryRun]:
        """Return the runs that a cause stopped before a time, in the order of their start."""
        where = (_RUNS.c.signature == signature) & (_RUNS.c.started_at < before)
        with self._transaction() as connection:
            rows = connection.execute(sa.select(_RUNS).where(where).order_by(_RUNS.c.started_at, _RUNS.c.id))
            return [HistoryRun.model_validate(dict(row)) for row in rows.mappings()]

    def last_pass(self, mission_id: str, before: datetime) -> datetime | None:
        """Return when the last run of a mission began that passed before a time; None if none did."""
        passed = (_RUNS.c.mission_id == mission_id) & (_RUNS.c.verdict == "faithful")
        query = sa.select(sa.func.max(_RUNS.c.started_at, type_=_UtcDateTime()))
        with self._transaction() as connection:
            found: datetime | None = connection.scalar(query.where(passed & (_RUNS.c.started_at < before)))
        return found

    def quarantines(self) -> dict[str, Quarantine]:
        """Return the quarantine of each mission that has one, also those that are over."""
        with self._transaction() as connection:
            rows = connection.execute(sa.select(_QUARANTINES).order_by(_QUARANTINES.c.mission_id)).mappings()
            return {row["mission_id"]: Quarantine.model_validate(dict(row)) for row in rows}

    def set_quarantine(self, quarantine: Quarantine) -> None:
        """Put a mission into quarantine, or change its reason and days."""
        with self._transaction(writes=True) as connection:
            connection.execute(sa.delete(_QUARANTINES).where(_QUARANTINES.c.mission_id == quarantine.mission_id))
            connection.execute(sa.insert(_QUARANTINES), [quarantine.model_dump()])

    def end_quarantine(self, mission_id: str) -> bool:
        """End the quarantine of a mission; return whether there was one."""
        with self._transaction(writes=True) as connection:
            done = connection.execute(sa.delete(_QUARANTINES).where(_QUARANTINES.c.mission_id == mission_id))
            return done.rowcount > 0

    @contextmanager
    def _transaction(self, *, writes: bool = False) -> Iterator[sa.Connection]:
        """Yield a connection in a transaction; an error of the database becomes one of the history."""
        engine = self._engine.execution_options(**{_WRITES: True}) if writes else self._engine
        try:
            with engine.begin() as connection:
                yield connection
        except sa.exc.IntegrityError:
            raise
        except ValidationError as error:
            message = f"{_without_password(self._engine.url)}: a run is of a newer version of Eikon; use that version"
            raise HistoryError(message) from error
        except Exception as error:  # noqa: BLE001 - drivers raise what they like
            _raise_unusable(self._engine.url, error)


@contextmanager
def open_history(place: HistoryPlace) -> Iterator[History]:
    """Open a database until the block ends; its tables are made, or brought up to date, first.

    Raises:
        HistoryError: the database cannot be reached or read, or belongs to a newer version.
    """
    try:
        url = sa.make_url(place.url) if place.file is None else sa.URL.create("sqlite", database=str(place.file))
        engine = sa.create_engine(url, connect_args=_connect_arguments(url))
    except Exception as error:  # noqa: BLE001 - a URL of the user, and any driver
        _raise_unusable(place.url, error)
    is_file = url.get_backend_name() == "sqlite"
    if is_file:
        _use_write_ahead_log(engine)
    try:
        if place.file is not None:
            make_folders(place.file.parent)
        if is_file:
            _create_privately(url)
        _migrate(engine)
    except CommandError as error:
        engine.dispose()
        message = f"{_without_password(url)}: the history is of a newer version of Eikon; use that version ({error})"
        raise HistoryError(message) from error
    except Exception as error:  # noqa: BLE001 - drivers raise what they like
        engine.dispose()
        _raise_unusable(url, error)
    history = History(engine, place)
    try:
        yield history
    finally:
        history.close()


def _create_privately(url: sa.URL) -> None:
    """Create the file of a new database for its user only; SQLite gives the files beside it the same mode.

    SQLite reports why a file cannot be created.
    """
    if url.database and url.database != ":memory:" and not url.query:
        with suppress(OSError):
            open_new_file(Path(url.database)).close()


def _connect_arguments(url: sa.URL) -> dict[str, Any]:
    match url.get_backend_name():
        case "sqlite":
            return {"timeout": BUSY_S}
        case "postgresql":
            return {"connect_timeout": BUSY_S}
        case _:
            return {}


def _use_write_ahead_log(engine: sa.Engine) -> None:
    """Let readers and a writer work at once; a transaction waits for its turn before it reads what it changes.

    Source: https://docs.sqlalchemy.org/en/20/dialects/sqlite.html#pysqlite-serializable
    """

    @sa.event.listens_for(engine, "connect")
    def connect(connection: Any, _record: object) -> None:  # noqa: ANN401 - of the driver
        connection.isolation_level = None  # SQLAlchemy begins transactions, see below
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except Exception as error:  # noqa: BLE001 - of the driver: a database that cannot be written is still read
            _LOG.debug("no write-ahead log: %s", error)

    @sa.event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        writes = connection.get_execution_options().get(_WRITES, False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _migrate(engine: sa.Engine) -> None:
    """Bring the tables up to date; a database that is needs not be writable."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")).replace("%", "%%"))
    with engine.begin() as connection:
        if MigrationContext.configure(connection).get_current_revision() == _LAST_REVISION:
            return
    with engine.execution_options(**{_WRITES: True}).begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK_ID)))
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def _without_password(url: sa.URL | str) -> str:
    """Return a URL without its password; of one that cannot be parsed, only its scheme."""
    return url.partition("://")[0] if isinstance(url, str) else url.render_as_string(hide_password=True)


def _raise_unusable(url: sa.URL | str, error: Exception) -> NoReturn:
    cause = error.orig if isinstance(error, sa.exc.DBAPIError) else error
    problem = " ".join(str(cause).split()) or type(error).__name__
    if not isinstance(url, str) and url.password is not None:
        problem = problem.replace(str(url.password), "***")
    message = (
        f"{_without_password(url)}: the history cannot be used: {problem}; correct EIKON_HISTORY, or set it to `off`"
    )
    raise HistoryError(message) from error
