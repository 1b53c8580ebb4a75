"""Three ordinary sites that never answer twice with the same bytes: a help desk, a deployment board and a shop."""

from tests.sites.ordinary.board import serve_board
from tests.sites.ordinary.helpdesk import serve_helpdesk
from tests.sites.ordinary.restartable import Change, OrdinarySite
from tests.sites.ordinary.store import serve_store

__all__ = ["Change", "OrdinarySite", "serve_board", "serve_helpdesk", "serve_store"]
