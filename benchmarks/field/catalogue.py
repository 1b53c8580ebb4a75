"""All applications of the field."""

from __future__ import annotations

from benchmarks.field import (
    admin_sites,
    content,
    dashboards,
    data_applications,
    developer_tools,
    personal_servers,
    widgets,
)
from benchmarks.field.application import Application

APPLICATIONS: tuple[Application, ...] = (
    *admin_sites.APPLICATIONS,
    *data_applications.APPLICATIONS,
    *content.APPLICATIONS,
    *dashboards.APPLICATIONS,
    *personal_servers.APPLICATIONS,
    *developer_tools.APPLICATIONS,
    *widgets.APPLICATIONS,
)


def find(name: str) -> Application:
    """Return the application with this name."""
    return {each.name: each for each in APPLICATIONS}[name]
