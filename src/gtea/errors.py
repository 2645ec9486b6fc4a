"""Everything that can go wrong because of something outside gtea, in one tree.

    GteaError                 exit code 1, never raised itself
    ├── UsageError      2     the command or call asks for something that can't be
    ├── DataError       3     the events, nodes or labels given to us are not usable as they are
    ├── StoreError      4     a store on disk is missing, damaged, busy, or of another version
    └── ModelError      5     a model on disk is missing, damaged, or doesn't fit the store

A message has the form ``subject: rule (got value). Remedy.`` The command line prints it and exits with
the class's code; a traceback is shown only with ``--debug``. Anything that is not a GteaError is a bug.
"""

from __future__ import annotations


class GteaError(Exception):
    """A failure the user can understand and mend."""

    exit_code = 1


class UsageError(GteaError):
    """The request itself is impossible or contradicts itself."""

    exit_code = 2


class DataError(GteaError):
    """The input data break a rule; the message names file, row, column, value and remedy."""

    exit_code = 3


class StoreError(GteaError):
    """A store is missing, damaged, in use by another writer, or of a version we can't read."""

    exit_code = 4


class ModelError(GteaError):
    """A model is missing, damaged, of a version we can't read, or doesn't fit the data."""

    exit_code = 5
