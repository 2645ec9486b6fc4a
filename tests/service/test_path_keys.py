from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.report.hostile_ids import HOSTILE

from gtea.service.path_keys import account_of, path_key


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_every_id_has_one_key_and_comes_back(account: str) -> None:
    key = path_key(account)
    assert re.fullmatch("[A-Za-z0-9_-]+", key)
    assert account_of(key) == account


@pytest.mark.parametrize("key", ["", "=", "Zg==", "Zh", "Z", "A/b", "..", "Zg\n", "_w", "ä"])
def test_what_is_no_key_stands_for_nobody(key: str) -> None:
    assert account_of(key) is None


def test_hostile_ids_are_harmless_in_a_path() -> None:
    assert [account_of(path_key(account)) for account in HOSTILE] == HOSTILE
