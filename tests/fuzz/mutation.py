"""Change the files of an input: one of them by its format, or the folder as a whole."""

from __future__ import annotations

import random

from tests.fuzz.byte_mutators import ByteMutator, mutate_bytes, mutate_floats, mutate_integers
from tests.fuzz.folders import Files, Special
from tests.fuzz.header_mutators import mutate_part, mutate_safetensors, mutate_state
from tests.fuzz.json_mutators import mutate_json
from tests.fuzz.parquet_mutators import mutate_parquet
from tests.fuzz.text_mutators import mutate_lines, mutate_table, mutate_toml

_BY_SUFFIX: dict[str, tuple[ByteMutator, ...]] = {
    "bin": (mutate_integers, mutate_integers, mutate_floats, mutate_bytes),
    "json": (mutate_json, mutate_json, mutate_json, mutate_bytes),
    "safetensors": (mutate_safetensors, mutate_floats, mutate_bytes),
    "state": (mutate_state, mutate_state, mutate_integers, mutate_floats, mutate_bytes),
    "part": (mutate_part, mutate_part, mutate_integers, mutate_floats, mutate_bytes),
    "parquet": (mutate_parquet,),
    "jsonl": (mutate_lines, mutate_table),
    "csv": (mutate_table,),
    "tsv": (mutate_table,),
    "txt": (mutate_table,),
    "toml": (mutate_toml,),
}


def mutate(rng: random.Random, files: Files, attacked: str) -> Files:
    """Another input, in which at least one byte differs.

    Args:
        attacked: What the names of the files begin with that may change.
    """
    names = sorted(name for name in files if name.startswith(attacked))
    changed = dict(files)
    while changed == files:
        if len(names) > 1 and rng.random() < 0.08:
            changed = _other_folder(rng, changed, names)
        for name in rng.sample(names, k=min(len(names), rng.choice([0, 1, 1, 1, 2]))):
            content = changed.get(name)
            if isinstance(content, bytes):
                changed[name] = rng.choice(_BY_SUFFIX.get(name.rpartition(".")[2], (mutate_bytes,)))(rng, content)
    return changed


def _other_folder(rng: random.Random, files: Files, names: list[str]) -> Files:
    """A file that is missing, that is no file, or two that have changed places."""
    changed, (first, second) = dict(files), rng.sample(names, 2)
    match rng.randrange(4):
        case 0:
            del changed[first]
        case 1:
            changed[first], changed[second] = changed[second], changed[first]
        case 2:
            changed[first] = changed[second]
        case _:
            changed[first] = rng.choice(list(Special))
    return changed
