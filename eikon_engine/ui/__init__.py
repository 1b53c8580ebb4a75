"""A local site that shows runs: a list, their reports, triage and differences. Needs the extra `ui`."""

from eikon_engine.ui.app import create_app, create_viewer
from eikon_engine.ui.runs import RunList

__all__ = ["RunList", "create_app", "create_viewer"]
