"""Rerun recorded skills on stored pages, without a browser: the test loop of skill authors."""
