"""One mission in the shop, in the formats of other tools: order a banana."""

from __future__ import annotations

import json
from typing import Any


def devtools_flow(url: str, password: str) -> bytes:
    """Write the order as Chrome DevTools Recorder exports it."""
    steps: list[dict[str, Any]] = [
        {"type": "setViewport", "width": 1200, "height": 800, "deviceScaleFactor": 1, "isMobile": False},
        {"type": "navigate", "url": f"{url}/product/1"},
        _click(["aria/Add to cart", 'aria/Add to cart[role="button"]'], ["#add-to-cart"]),
        {"type": "navigate", "url": f"{url}/login?next=/checkout"},
        _change(["#username"], "ada"),
        _change(["#password"], password),
        {"type": "keyDown", "key": "Enter"},
        {"type": "keyUp", "key": "Enter", "assertedEvents": [{"type": "navigation", "url": f"{url}/checkout"}]},
        _change(["#name"], "Ada Lovelace"),
        _change(["#address"], "12 St James's Square"),
        _change(["#delivery"], "express"),
        _click(["#pay-invoice"]),
        _change(["#date"], "2026-12-24"),
        _click(["xpath//html/body/main/form/button"], ["#place-order"]),
    ]
    return json.dumps({"title": "Order a banana", "steps": steps}).encode()


def side_project(url: str, password: str) -> bytes:
    """Write the order as Selenium IDE saves it."""
    commands = [
        ("open", "/product/1", ""),
        ("setWindowSize", "1200x800", ""),
        ("click", "id=add-to-cart", ""),
        ("open", "/login?next=/checkout", ""),
        ("type", "id=username", "ada"),
        ("type", "name=password", password),
        ("sendKeys", "id=password", "${KEY_ENTER}"),
        ("waitForElementVisible", "id=name", "5000"),
        ("type", "id=name", "Ada Lovelace"),
        ("type", "id=address", "12 St James's Square"),
        ("select", "id=delivery", "value=express"),
        ("click", "css=#pay-invoice", ""),
        ("type", "id=date", "2026-12-24"),
        ("click", "xpath=//button[@id='place-order']", ""),
    ]
    test = {
        "id": "1",
        "name": "Order a banana",
        "commands": [
            {"id": str(number), "comment": "", "command": name, "target": target, "targets": [], "value": value}
            for number, (name, target, value) in enumerate(commands)
        ],
    }
    project = {"id": "0", "version": "2.0", "name": "shop", "url": url, "tests": [test], "suites": [], "urls": [url]}
    return json.dumps(project).encode()


def _click(*selectors: list[str]) -> dict[str, Any]:
    return {"type": "click", "target": "main", "selectors": selectors, "offsetX": 5, "offsetY": 5}


def _change(selectors: list[str], value: str) -> dict[str, Any]:
    return {"type": "change", "target": "main", "selectors": [selectors], "value": value}
