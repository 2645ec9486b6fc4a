"""The exceptions that gtea raises for problems outside its own code.

    GteaError                 exit code 1; base class, never raised itself
    ├── UsageError      2     the command or call is invalid
    ├── DataError       3     the events, nodes or labels can't be used as they are
    ├── StoreError      4     a store on disk is missing, damaged, locked, or of another version
    ├── ModelError      5     a model on disk is missing, damaged, or doesn't fit the store
    └── LimitError      6     a monitored model is outside of its limits; what was found is written

A message has the form ``subject: rule (got value). Remedy.`` One of several lines is given line by line: a line break
within a line is part of a value, and must not look like one of ours. The command line prints the message and exits with
the class's code; a traceback is shown only with ``--debug``. Anything that is not a GteaError is a bug.
"""

from __future__ import annotations


class GteaError(Exception):
    """Base class of all errors that a user can understand and fix."""

    exit_code = 1

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines


class UsageError(GteaError):
    """The request is invalid or contradicts itself."""

    exit_code = 2


class DataError(GteaError):
    """The input data break a rule. The message names file, row, column, value and remedy."""

    exit_code = 3


class StoreError(GteaError):
    """A store is missing, damaged, locked by another writer, or of a version that can't be read."""

    exit_code = 4


class ModelError(GteaError):
    """A model is missing, damaged, of a version that can't be read, or doesn't fit the data."""

    exit_code = 5


class LimitError(GteaError):
    """A monitored model is outside of its limits. Nothing failed: the page and the figures are written."""

    exit_code = 6
