"""Observe a browser context of a Playwright client we do not own, inside its event loop."""
