"""Entry point: runs a command and turns failures into a message and an exit code.

Exit codes: 0 done; 1 a check found faults, or a bug; 2 usage; 3 data; 4 store or disk; 5 model; 6 a limit is crossed;
130 interrupted.
"""

from __future__ import annotations

import importlib
import logging
import sys
import warnings
from collections.abc import Sequence
from typing import NoReturn

import click

from gtea.cli.places import refuse_addresses_as_results
from gtea.cli.terminal import print_traceback, say, show_misuse, warn, warning_text
from gtea.errors import GteaError
from gtea.runtime.disk_errors import system_error

# Name -> module and one line of help. Modules are imported when their command runs, so that --help is quick.
_COMMANDS = {
    "investigate": ("gtea.cli.investigate", "From a table of transactions to ranked accounts with reasons."),
    "ingest": ("gtea.cli.ingest", "Read events from CSV, Parquet, JODIE or SNAP files into a store."),
    "append": ("gtea.cli.append", "Add new events to a store, as a new version."),
    "info": ("gtea.cli.info", "Show what is in a store."),
    "verify": ("gtea.cli.verify", "Check every digest and invariant of a store."),
    "copy": ("gtea.cli.copy", "Copy a store, a model or a file to or from an object store."),
    "export": ("gtea.cli.export", "Write a store's events to Parquet, CSV or PyG tensors."),
    "train": ("gtea.cli.train", "Train a model on labelled accounts, or on links."),
    "tune": ("gtea.cli.tune", "Search for settings on the validation part."),
    "evaluate": ("gtea.cli.evaluate", "Evaluate a model on labelled accounts or pairs."),
    "score": ("gtea.cli.score", "Score and rank accounts or pairs with a model."),
    "watch": ("gtea.cli.watch", "Score events as they arrive, and print the scores that change."),
    "serve": ("gtea.cli.serve", "Serve scores over HTTP while events arrive, with pages, alerts and a stream."),
    "explain": ("gtea.cli.explain", "Explain the score of an account or a pair."),
    "report": ("gtea.cli.report", "Write a page for each of the most suspicious accounts, and an index."),
    "monitor": ("gtea.cli.monitor", "Compare a model's latest days with those before its training."),
    "datasets": ("gtea.cli.datasets", "List, fetch and prepare public data sets."),
    "reproduce": ("gtea.cli.reproduce", "Reproduce the paper's tables and figures, or make them for your own data."),
    "synth": ("gtea.cli.synth", "Generate synthetic payments."),
    "demo": ("gtea.cli.demo", "Run everything once on generated payments."),
    "doctor": ("gtea.cli.doctor", "Show versions, threads and optional packages."),
}


class _LazyCommands(click.Group):
    """A group that knows its commands' names without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command = importlib.import_module(_COMMANDS[cmd_name][0]).command
        assert isinstance(command, click.Command)
        refuse_addresses_as_results(command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in _COMMANDS.items()])


def _print_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        import importlib.metadata

        say(f"gtea {importlib.metadata.version('gtea')}")
        ctx.exit()


@click.command(cls=_LazyCommands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version.",
)
@click.option(
    "--debug", is_flag=True, expose_value=False, help="Show the traceback of an error (anywhere on the line)."
)
def cli() -> None:
    """Find suspicious accounts in transaction data by the history of every pair of accounts.

    Ingest a table of transactions, train on some labelled accounts, score all accounts.

    \b
      gtea synth payments --accounts 2000 --events 40000 --out payments
      gtea ingest payments/transactions.parquet --src payer --dst payee --time timestamp \\
           --features amount --out payments.store
      gtea train payments.store --labels payments/labels.csv --out payments.model
      gtea score payments.model payments.store --out scores.csv

    Every command has --help; commands that report have --json.
    """


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    warnings.formatwarning = warning_text
    logging.getLogger("gtea").addHandler(logging.NullHandler())  # notes are part of what commands print
    try:
        # Without standalone mode click hands back the code of ctx.exit() and of Exit; commands return nothing.
        code = cli.main([word for word in words if word != "--debug"], prog_name="gtea", standalone_mode=False) or 0
    except click.ClickException as error:
        show_misuse(error)
        code = 2
    except (KeyboardInterrupt, click.exceptions.Abort):
        warn("interrupted; what was finished is kept")
        code = 130
    except BrokenPipeError:
        sys.stderr.close()  # whoever read our output has gone; there is nobody to tell
        code = 0
    except GteaError as error:
        code = _report(error, error.exit_code, debug)
    except Exception as error:
        found = system_error(error)
        if found is not None:
            found.__cause__ = error  # for --debug
            code = _report(found, found.exit_code, debug)
        else:  # a bug is reported, not thrown at the user
            prefix = f"this is a bug in gtea ({type(error).__name__}). Run with --debug and report it: "
            code = _report(error, 1, debug, prefix)
    sys.exit(code)


def _report(error: Exception, code: int, debug: bool, prefix: str = "") -> int:
    if debug:
        print_traceback(error.__cause__ or error)
    first, *more = error.lines if isinstance(error, GteaError) else [str(error)]
    warn(f"gtea: {prefix}{first}", *more)
    return code
