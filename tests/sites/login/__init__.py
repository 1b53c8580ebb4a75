"""A site behind a login, with every kind of secret that a recording must not contain."""

from tests.sites.login.server import PASSWORD, LoginSite, serve_login

__all__ = ["PASSWORD", "LoginSite", "serve_login"]
