from __future__ import annotations

import dataclasses
import subprocess

import pytest
from tests.report.hostile_ids import HOSTILE

from gtea.report.case import Case
from gtea.report.replay import replay_command

SHORT = [account for account in HOSTILE if len(account) < 500]


def command_for(case: Case, account: str) -> str:
    return replay_command(dataclasses.replace(case, explanation=dataclasses.replace(case.explanation, account=account)))


def test_the_command_of_a_plain_id(busy_case: Case) -> None:
    as_of = busy_case.explanation.as_of
    wanted = f"gtea explain phishing.model payments.store --as-of {as_of} --html case.html me"
    assert replay_command(busy_case) == wanted


def test_a_shell_reads_every_id_as_it_is(busy_case: Case) -> None:
    # A NUL can't be an argument of any program.
    accounts = [account for account in SHORT if "\x00" not in account]
    script = "\n".join(command_for(busy_case, account).replace("gtea explain", "show") for account in accounts)
    # Options come first; what follows the last of them, and -- before a dash, is the id.
    show = 'show() { shift 6; [ "$1" = -- ] && shift; printf "%s\\0" "$1"; }\n'
    printed = subprocess.run(["bash", "-c", show + script], capture_output=True, check=True).stdout
    assert printed.decode().split("\0")[:-1] == accounts


@pytest.mark.parametrize("account", HOSTILE, ids=range(len(HOSTILE)))
def test_the_command_is_one_printable_line(busy_case: Case, account: str) -> None:
    assert command_for(busy_case, account).isprintable()
