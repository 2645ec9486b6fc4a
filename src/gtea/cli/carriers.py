"""The options of commands that can run on several processes or machines."""

from __future__ import annotations

import click

from gtea.cli.terminal import say

on_option = click.option(
    "--on",
    metavar="WHERE",
    help="Work in parts, to the same bytes: local:N (processes), array:K/N (job K of N that share a folder), "
    "ray, or ray:ADDRESS.",
)
parts_option = click.option(
    "--parts", type=click.IntRange(1), metavar="P", help="With --on: how many parts; default as many as workers."
)
work_option = click.option(
    "--work", metavar="DIR", help="With --on: a folder that all workers share; default OUT.parts."
)


def say_others_end(on: str, out: str) -> None:
    """What a job of an array says that is not the one that ends the work."""
    say(f"{on}: this job's share is done; another writes {out}")
