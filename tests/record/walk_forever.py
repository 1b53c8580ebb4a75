"""Drive and record a browser that never stops, for a test that kills it: `walk_forever.py DIRECTORY URL`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from eikon_engine.browser.executable import find_browser
from eikon_engine.record import AttachOptions, record_mission


def main(directory: Path, url: str) -> None:
    """Print a line after every round."""
    with sync_playwright() as playwright:
        page = playwright.chromium.launch(executable_path=find_browser(None, environ=os.environ).path).new_page()
        options = AttachOptions(certify=None)
        with record_mission(page, mission_text="Walk in circles", directory=directory, options=options):
            page.goto(url)
            while True:
                page.click("#home")
                print("walked", flush=True)  # noqa: T201 - read by the test


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
