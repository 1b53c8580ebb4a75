"""Commands and groups: the options that mean the same everywhere, and the rules that hold for each command line."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import click
from click.core import ParameterSource

from eikon_engine.cli.standard_streams import silence_stderr, turn_off_colors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

Holds: TypeAlias = Literal["file", "patch", "bundle"]
"""What is written at an output; a patch is written by another process, which refuses what exists."""

HELP_OPTIONS: Final = ("-h", "--help")
_BUNDLE_OPTION: Final = "bundle_by_option"
"""Name of the option `--trace`, whose value the argument takes."""
_BUNDLE_BY_OPTION: Final = "eikon_engine.bundle_by_option"
"""Key in the data of a context: the argument that `--trace` replaces on this command line."""
_JSON_ALIAS: Final = "json_alias"
_FORCE: Final = "force"
_HEADLESS: Final = "--headless"
_HEADLESS_VALUES: Final = {"true": _HEADLESS, "false": "--headed"}


class BundleArgument(click.Argument):
    """A bundle, or several, that may be given with `--trace` instead of by position."""

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:  # noqa: ANN401 - click's parser has no public type
        """Take a position, unless the option is given: the positions then are those of the other arguments."""
        if ctx.meta.get(_BUNDLE_BY_OPTION) is not self:
            super().add_to_parser(parser, ctx)

    def consume_value(self, ctx: click.Context, opts: Mapping[str, Any]) -> tuple[Any, ParameterSource]:
        """Return the value of the option if it is given, else that of the position."""
        if _BUNDLE_OPTION in opts:
            return opts[_BUNDLE_OPTION], ParameterSource.COMMANDLINE
        return super().consume_value(ctx, opts)


class OutputOption(click.Option):
    """`-o/--output`, or another option for a file or bundle to write; an existing one is replaced with `--force`."""

    def __init__(self, *args: Any, holds: Holds = "file", **settings: Any) -> None:  # noqa: ANN401 - click's parameters
        """Store what is written there."""
        super().__init__(*args, **settings)
        self.holds = holds


class _CheckedCommand(click.Command):
    """Adds the options that mean the same everywhere, and checks a command line as a whole."""

    def __init__(self, *args: Any, **settings: Any) -> None:  # noqa: ANN401 - click's parameters
        """Add the options."""
        given = settings.get("context_settings") or {}
        settings["context_settings"] = {"help_option_names": list(HELP_OPTIONS), **given}
        super().__init__(*args, **settings)
        self.params = [*self.params, *_added_options(self.params)]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments.

        Raises:
            UsageError: an option that takes one value is given twice, or two that exclude each other are given.
        """
        if any(_HEADLESS in param.opts for param in self.params):
            args = list(_with_headless_flags(args))
        if not ctx.resilient_parsing and args:
            self._check_arguments(ctx, args)
        rest = super().parse_args(ctx, args)
        self._choose_json(ctx)
        return rest

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - what the callback returns
        """Run the command; what exists at an output is refused, or replaced with `--force`."""
        options = [param for param in self.params if isinstance(param, OutputOption)]
        is_forced = bool(options) and bool(ctx.params.pop(_FORCE, False))
        paths = {name: value for name, value in ctx.params.items() if isinstance(value, Path)}
        outputs = {option: paths.pop(option.name) for option in options if option.name in paths}
        with ExitStack() as replaced:
            for option, path in outputs.items():
                from eikon_engine.cli.outputs import replaced_output

                replaced.enter_context(replaced_output(path, option.holds, paths.values(), is_forced=is_forced))
            return super().invoke(ctx)

    def _check_arguments(self, ctx: click.Context, args: list[str]) -> None:
        values, _, order = self.make_parser(ctx).parse_args(args=list(args))
        if any(isinstance(param, click.Option) and set(param.opts) & set(HELP_OPTIONS) for param in order):
            return
        _require_single(ctx, order)
        argument = next((param for param in self.params if isinstance(param, BundleArgument)), None)
        if argument is not None and _BUNDLE_OPTION in values:
            ctx.meta[_BUNDLE_BY_OPTION] = argument
            _, rest, _ = self.make_parser(ctx).parse_args(args=list(args))
            if rest:
                name = argument.make_metavar(ctx)
                ctx.fail(f"expected either {name} or --trace, got both: {rest[0]} and --trace")

    def _choose_json(self, ctx: click.Context) -> None:
        """Make `--json` the format."""
        is_json = ctx.params.pop(_JSON_ALIAS, False)
        chosen = next((param for param in self.params if "--format" in param.opts), None)
        if not is_json or chosen is None:
            return
        value = ctx.params[chosen.name]
        if ctx.get_parameter_source(chosen.name) is ParameterSource.COMMANDLINE and value != "json":
            ctx.fail(f"expected either --json or --format {value}, got both")
        ctx.params[chosen.name] = "json"


class Command(_CheckedCommand):
    """A command with the options that mean the same everywhere."""


class Group(_CheckedCommand, click.Group):
    """A group of such commands; a name that is unknown is answered with the nearest ones."""

    command_class = Command
    group_class = type

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command of the first argument.

        Raises:
            NoSuchCommand: there is none of this name; the message has those that are like it.
        """
        try:
            return super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand as error:
            names = self.list_commands(ctx)
            raise click.exceptions.NoSuchCommand(error.command_name, possibilities=names, ctx=ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands, each with its first sentence, which is not shortened."""
        rows = [(name, self.summary_of(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def summary_of(self, ctx: click.Context, name: str) -> str:
        """Return one line about a command."""
        command = self.get_command(ctx, name)
        return "" if command is None else command.get_short_help_str(limit=1000)


def command(name: str, **settings: Any) -> Callable[[Callable[..., Any]], Command]:  # noqa: ANN401 - click's parameters
    """Make a function a command."""
    return click.command(name, cls=Command, **settings)


def group(name: str, **settings: Any) -> Callable[[Callable[..., Any]], Group]:  # noqa: ANN401 - click's parameters
    """Make a function a group."""
    return click.group(name, cls=Group, **settings)


def _added_options(params: Iterable[click.Parameter]) -> Iterator[click.Option]:
    """Yield the options that each command has, and those that follow from its own."""
    params = tuple(params)
    names = {name for param in params for name in param.opts}
    argument = next((param for param in params if isinstance(param, BundleArgument)), None)
    if argument is not None:
        yield _bundle_option(argument)
    if any(isinstance(param, OutputOption) for param in params):
        yield click.Option(
            [f"--{_FORCE}"], is_flag=True, help="Replace what exists at --output, which is refused otherwise."
        )
    kind = next((param for param in params if "--format" in param.opts), None)
    has_json = kind is not None and isinstance(kind.type, click.Choice) and "json" in kind.type.choices
    if has_json and "--json" not in names:
        yield click.Option(["--json", _JSON_ALIAS], is_flag=True, help="Print JSON, as --format json.")
    yield click.Option(
        ["--quiet"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_be_quiet,
        help="Print no progress and no remarks on standard error; results and errors are printed.",
    )
    yield click.Option(
        ["--no-color"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_print_without_color,
        help="Print without colors, as with the environment variable NO_COLOR.",
    )


def _bundle_option(argument: BundleArgument) -> click.Option:
    is_multiple = argument.nargs != 1
    repeatable = "; repeatable" if is_multiple else ""
    return click.Option(
        ["--trace", _BUNDLE_OPTION],
        type=argument.type,
        multiple=is_multiple,
        expose_value=False,
        metavar="BUNDLE",
        help=f"The same as BUNDLE: a folder, or its trace.json{repeatable}.",
    )


def _be_quiet(_context: click.Context, _parameter: click.Parameter, is_quiet: bool) -> None:  # noqa: FBT001 - click's signature
    if is_quiet:
        silence_stderr()


def _print_without_color(context: click.Context, _parameter: click.Parameter, is_plain: bool) -> None:  # noqa: FBT001 - click's signature
    if is_plain:
        context.color = False
        turn_off_colors()


def _require_single(ctx: click.Context, order: Iterable[click.Parameter]) -> None:
    """Check that no option is repeated that takes one value.

    Raises:
        UsageError: one is.
    """
    found: set[str | None] = set()
    for param in order:
        if not isinstance(param, click.Option) or param.multiple or param.count or param.is_eager:
            continue
        if param.name in found:
            names = "/".join((*param.opts, *param.secondary_opts))
            ctx.fail(f"{names}: expected once, got it several times; keep one")
        found.add(param.name)


def _with_headless_flags(args: Iterable[str]) -> Iterator[str]:
    """Yield arguments with `--headless=true`, `--headless true` and so on as one of the two flags."""
    rest = list(args)
    while rest:
        word = rest.pop(0)
        if word == "--":
            yield from (word, *rest)
            return
        if word == _HEADLESS and rest and rest[0] in _HEADLESS_VALUES:
            yield _HEADLESS_VALUES[rest.pop(0)]
        elif word.startswith(f"{_HEADLESS}="):
            value = word.partition("=")[2]
            if value not in _HEADLESS_VALUES:
                raise click.UsageError(f"{_HEADLESS}: expected true or false, got {value!r}")
            yield _HEADLESS_VALUES[value]
        else:
            yield word
