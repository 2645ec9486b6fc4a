"""The command line and the settings are a promise: a change here is a change that users notice.

After a deliberate change, run ``python -m tests.cli.test_interface`` to write the record again, and note the change in
CHANGELOG.md.
"""

from __future__ import annotations

import io
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from rich.console import Console

from gtea.cli.bars import percent_bar, training_figures
from gtea.cli.doctor import _OPTIONAL
from gtea.cli.main import cli
from gtea.config import RunConfig
from gtea.training.loop import TrainingReport

ROOT = Path(__file__).parents[2]
RECORD = Path(__file__).with_name("interface.txt")


def commands() -> Iterator[tuple[str, click.Command]]:
    context = click.Context(cli)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        yield name, command
        if isinstance(command, click.Group):
            yield from ((f"{name} {sub}", below) for sub, below in sorted(command.commands.items()))


def interface() -> str:
    lines = ["# commands and options"]
    for name, command in commands():
        lines.append(f"gtea {name}")
        for parameter in command.params:
            kind = getattr(parameter.type, "choices", None)
            shown = "/".join(parameter.opts) if isinstance(parameter, click.Option) else parameter.name
            choices = f" {'|'.join(map(str, kind))}" if kind else ""
            lines.append(f"  {shown}{choices}{' (required)' if parameter.required else ''}")
    lines.append("# settings and their plain defaults")
    for section, values in RunConfig().to_json().items():
        lines += [f"{section}.{name} = {value!r}" for name, value in values.items()]
    return "\n".join(lines) + "\n"


def test_options_and_settings_are_as_recorded() -> None:
    assert interface() == RECORD.read_text(encoding="utf-8")


def test_there_are_at_most_forty_settings() -> None:
    assert sum(map(len, RunConfig().to_json().values())) <= 40


@pytest.mark.parametrize("name", [name for name, _ in commands()])
def test_every_command_explains_itself(name: str) -> None:
    command = dict(commands())[name]
    with click.Context(command, info_name=name) as context:
        text = command.get_help(context)
    assert "Usage:" in text
    assert command.help
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{name} {parameter.opts}"


def test_doctor_checks_every_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    remedies = " ".join(remedy for _, remedy in _OPTIONAL.values())
    for extra in set(project["optional-dependencies"]) - {"dev", "docs"}:
        assert f"gtea[{extra}]" in remedies


@pytest.mark.parametrize("width", [80, 100, 160])
def test_the_training_bar_shows_everything(width: int) -> None:
    report = TrainingReport(Path(), 99, 100, 0.5, 0.1234, 1e6, "log_likelihood", -0.1234)
    stream = io.StringIO()
    console = Console(file=stream, width=width, force_terminal=True, legacy_windows=False, color_system=None)
    bar = percent_bar(console)
    done: Any = 0.995  # Rich draws fractions, though its types say int
    bar.add_task("epoch 100/100", total=1.0, completed=done, figures=training_figures(report))
    console.print(bar.get_renderable())
    (line,) = [line for line in stream.getvalue().splitlines() if "epoch" in line]
    assert len(line.rstrip()) <= width
    for part in ("epoch 100/100", "100%" if "100%" in line else "99%", "loss 0.1234", "best -0.1234"):
        assert part in line
    assert line.count("━") >= 8
    assert "…" not in line


if __name__ == "__main__":
    RECORD.write_text(interface(), encoding="utf-8")
