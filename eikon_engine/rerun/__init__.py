"""Rerunning recorded skills on stored pages, without a browser: the fast loop of whoever writes a skill."""
