"""Sources of secret values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eikon_engine.errors import UsageError
from eikon_engine.replay import ReplayOptions
from eikon_engine.secrets.sources import collect_secrets

if TYPE_CHECKING:
    from pathlib import Path


def test_options_override_the_file_and_the_file_overrides_the_environment(tmp_path: Path) -> None:
    """One secret is given in all three ways, and each of the others in one."""
    file = tmp_path / "secrets"
    file.write_text("# mine\n\nONE=file\nTWO=file=with=equals\n", encoding="utf-8")
    environ = {"EIKON_SECRET_ONE": "environment", "EIKON_SECRET_THREE": "environment", "PATH": "/bin"}

    secrets = collect_secrets(["ONE=option"], file, environ)

    assert secrets == {"ONE": "option", "TWO": "file=with=equals", "THREE": "environment"}


@pytest.mark.parametrize("option", ["PASSWORD", "=x", "my password=x"])
def test_an_option_without_a_name_and_a_value_is_refused_and_not_shown(option: str) -> None:
    """Text other than NAME=VALUE is refused without being shown, as it may be a password."""
    with pytest.raises(UsageError, match="expected NAME=VALUE") as caught:
        collect_secrets([option], None, {})

    assert "=x" not in caught.value.message.replace("NAME=VALUE", "")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """The error names the file that could not be read."""
    with pytest.raises(UsageError, match="nothing-here"):
        collect_secrets([], tmp_path / "nothing-here", {})


def test_a_command_that_binds_no_secret_refuses_an_origin() -> None:
    """Ignoring it would type the secret anywhere; the value is not shown."""
    with pytest.raises(UsageError, match="secret PASSWORD: expected NAME=VALUE, got an origin") as caught:
        collect_secrets(["PASSWORD@https://shop.example=leaves"], None, {})

    assert "leaves" not in caught.value.message


@pytest.mark.parametrize("origins", [("shop.example",), ("https://shop.example/cart",), "https://shop.example", (1,)])
def test_what_is_no_origin_binds_no_secret(origins: object) -> None:
    """In options as from the command line."""
    with pytest.raises(UsageError, match=r"ReplayOptions\.secret_origins: expected"):
        ReplayOptions(secret_origins={"PASSWORD": origins})  # type: ignore[dict-item] # of the test


@pytest.mark.parametrize(("options", "environ"), [(["ONE=\udcff"], {}), ([], {"EIKON_SECRET_ONE": "\udcff"})])
def test_a_value_that_is_no_text_is_refused_and_not_shown(options: list[str], environ: dict[str, str]) -> None:
    """Its bytes could be written to no page and searched in no file."""
    with pytest.raises(UsageError, match="expected text in UTF-8, got other bytes"):
        collect_secrets(options, None, environ)
