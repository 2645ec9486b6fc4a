"""Ingest in parts: each input file is read alone, and events are sorted in ranges of pairs.

    columns   the columns of all files, and the types in which all of them can be read
    read      a file: its bad rows, ids, words and events, with numbers of its own for ids and words
    times     how times are converted, as all files together need it
    reread    a file again, if it would have had its times converted in another way
    check     bad rows: refused, left out or written down
    number    a range of all account ids, in order; the words of a categorical column
    keys      the numbers of a file's accounts
    cut       where parts begin: at pairs of accounts
    scatter   a file's events to the parts that they belong to
    sort      the events and edges of a part
    take      a file's events and edges, where the files are such parts already (--sorted-parts)
    seams     how many events and edges come before each part
    ends      a part's edges to both of their ends
    slots     the slots of a range of accounts
    publish   all put one after the other: the store

The bytes are those of ``gtea.ingestion.ingest``: ranges of a sorted whole, one after another, are the whole.
"""
