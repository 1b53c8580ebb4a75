"""Changes of the shop, and how an exported test reports each."""

from __future__ import annotations

from typing import Final

RED: Final = (
    # change of the site, mission, subgoal and sequence of the step at which the exported test has to fail
    ("renamed-target", "order", "add_to_cart", 2),
    ("two-matches", "order", "add_to_cart", 2),
    ("disabled-button", "order", "add_to_cart", 2),
    ("hidden-button", "order", "add_to_cart", 2),
    ("covered-button", "order", "add_to_cart", 2),
    ("wrong-target", "order", "add_to_cart", 2),
    ("cart-error", "order", "add_to_cart", 2),
    ("frame-text", "order", "add_to_cart", 1),
    ("other-price", "order", "prices", 1),
    ("expired-session", "order", "sign_in", 4),
    ("missing-option", "order", "check_out", 3),
    ("new-required-field", "order", "check_out", 6),
    ("other-redirect", "order", "check_out", 6),
    ("error-on-submit", "order", "check_out", 6),
    ("download-content", "banana", "compare_prices", 3),
    ("title", "banana", "find_banana", 1),
    ("removed-item", "banana", "find_banana", 1),
    ("reordered-list", "banana", "find_banana", 1),
    ("only-one-left", "banana", "find_banana", 1),
    ("sponsored-first", "banana", "find_banana", 1),
    ("console-error", "banana", "find_banana", 1),
    ("dialog-text", "banana", "check_cart", 4),
    ("no-dialog", "banana", "check_cart", 4),
    ("popup-blocked", "banana", "check_cart", 8),
)
GREEN: Final = (
    ("slow-list", "banana"),  # harmless: a replay is faithful, too
    ("moved-button", "order"),  # a replay diverges; users do the same as before
    ("shadow-text", "order"),  # a replay diverges; no locator reaches into a closed shadow root
)
SHORT: Final = ("renamed-target", "other-price", "error-on-submit", "dialog-text", "slow-list", "shadow-text")
"""Those that are tried with every run of the tests; `python -m benchmarks.exported_tests` tries all."""
