"""A site behind a login, with everything that a recording must not keep."""

from tests.sites.login.server import PASSWORD, LoginSite, serve_login

__all__ = ["PASSWORD", "LoginSite", "serve_login"]
