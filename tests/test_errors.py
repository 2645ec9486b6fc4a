"""One tree of errors, one exit code for each kind."""

from __future__ import annotations

from gtea.errors import DataError, GteaError, ModelError, StoreError, UsageError


def test_each_kind_of_error_has_its_exit_code() -> None:
    codes = {kind: kind.exit_code for kind in (UsageError, DataError, StoreError, ModelError)}
    assert codes == {UsageError: 2, DataError: 3, StoreError: 4, ModelError: 5}
    assert all(issubclass(kind, GteaError) for kind in codes)
