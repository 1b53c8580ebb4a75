"""Watch the context of somebody else's Playwright client from inside its own event loop."""
