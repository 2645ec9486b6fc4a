"""Changes of CSV, TSV and TOML files: what hand-made, exported and hostile files look like."""

from __future__ import annotations

import random

from tests.fuzz.byte_mutators import BOUNDS, mutate_bytes
from tests.fuzz.json_mutators import mutate_json

_FIELDS = (
    b"", b" ", b'"', b'""', b'"a', b'a"b', b'"a""b"', b'"x\ny"', b'"x\r\ny"', b"\0", b"a\0b", b"\xff\xfe",
    b"\xed\xa0\x80", b"\xc3", "é".encode(), "\u2028".encode(), "\ufeff".encode(), b"nan", b"NaN", b"inf",
    b"-inf", b"1e999", b"-1", b"+1", b"0x10", b"1_000", b"1,5", b"null", b"NULL", b"None", b"=1+1", b"@cmd",
    b"2024-01-31", b"2024-01-31T25:00:00Z", b"9999-12-31", b"0000-00-00", b"262144-01-01",
    b"1e-400", b"00123", b"\\", b"#", b"//", b"'a'",
    b"\t", b";", b"|",
    *(str(bound).encode() for bound in BOUNDS),
)  # fmt: skip
_BREAKS = (b"\n", b"\r\n", b"\r", b"\n\n", b"\x0b", b"\x85", b"")
_TOML = (
    "true", "0", "-1", "1e400", "nan", "inf", "''", '"x"', "[]", "[[]]", "{}", "[1, 'a']", "1979-05-27",
    "07:32:00", "1_0", "0x10", '"\\ud800"', '"\\u0000"', "[0.6, 0.2, 0.2, 0.2]", "[nan, 0.5, 0.5]", "[1e308, 1e308, 1]",
    "[0.5, 0.5]", "{a = 1}", "[" * 3000, "x", "", *map(str, BOUNDS),
)  # fmt: skip


def mutate_table(rng: random.Random, content: bytes) -> bytes:
    """A few changes of a text table."""
    for _ in range(rng.choice([1, 1, 2, 4])):
        content = rng.choice([_field, _field, _field, _line, _line_break, _whole, mutate_bytes])(rng, content)
    return content


def mutate_lines(rng: random.Random, content: bytes) -> bytes:
    """Change a line of JSON, or several."""
    lines = content.split(b"\n")
    for _ in range(rng.choice([1, 1, 2, 4])):
        place = rng.randrange(len(lines))
        lines[place] = mutate_json(rng, lines[place])
    return b"\n".join(lines)


def mutate_toml(rng: random.Random, content: bytes) -> bytes:
    """A few changes of a settings file."""
    lines = content.decode("utf-8", "replace").split("\n")
    for _ in range(rng.choice([1, 1, 2, 4])):
        place = rng.randrange(len(lines))
        name, _, value = lines[place].partition("=")
        match rng.randrange(6):
            case 0:
                lines[place] = f"{name}= {lines[rng.randrange(len(lines))].partition('=')[2].strip() or value}"
            case 1:
                lines.insert(place, lines[rng.randrange(len(lines))])
            case 2:
                lines[place] = f"{rng.choice([name.strip() + 'x', '', 'a.b', chr(34) * 2, '[' + name, name])} = {value}"
            case 3:
                del lines[place : place + rng.choice([1, 1, 3])]
                lines = lines or [""]
            case _:
                lines[place] = f"{name}= {rng.choice(_TOML)}"
    changed = "\n".join(lines).encode()
    return mutate_bytes(rng, changed) if rng.random() < 0.2 else changed


def _field(rng: random.Random, content: bytes) -> bytes:
    lines = content.split(b"\n")
    place = rng.randrange(len(lines))
    fields = lines[place].split(b",")
    if rng.random() < 0.02:
        fields[rng.randrange(len(fields))] = rng.choice([b"9", b"a", b'"']) * rng.choice([10_000, 300_000, 2_100_000])
    else:
        fields[rng.randrange(len(fields))] = rng.choice([rng.choice(_FIELDS), rng.choice(fields)])
    lines[place] = b",".join(fields)
    return b"\n".join(lines)


def _line(rng: random.Random, content: bytes) -> bytes:
    """A line that is missing, repeated, empty, too long, too short, or in another place."""
    lines = content.split(b"\n")
    place, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(6):
        case 0:
            del lines[place]
        case 1:
            lines.insert(place, lines[other])
        case 2:
            lines.insert(place, rng.choice([b"", b" ", b",", b",,,,", b"# note", b'"', b"\0"]))
        case 3:
            lines[place] += rng.choice([b",", b",more", b",,,", b'"'])
        case 4:
            lines[place] = lines[place].rpartition(b",")[0]
        case _:
            lines[place], lines[other] = lines[other], lines[place]
    return b"\n".join(lines)


def _line_break(rng: random.Random, content: bytes) -> bytes:
    lines = content.split(b"\n")
    if rng.random() < 0.3:
        return rng.choice(_BREAKS[:3]).join(lines)
    place = rng.randrange(len(lines))
    return b"\n".join(lines[: place + 1]) + rng.choice(_BREAKS) + b"\n".join(lines[place + 1 :])


def _whole(rng: random.Random, content: bytes) -> bytes:
    """Something that is about the whole file: its encoding, its delimiter, its end."""
    text = content.decode("utf-8", "replace")
    match rng.randrange(10):
        case 0:
            return b"\xef\xbb\xbf" + content
        case 1:
            return text.encode("utf-16")
        case 2:
            return text.encode("utf-16-le")
        case 3:
            return content.replace(b",", rng.choice([b";", b"\t", b"|", b", ", b"\0"]))
        case 4:
            return content.rstrip(b"\n")
        case 5:
            return content + rng.choice([b"\x1a", b"\0" * 100, b"\n" * 50])
        case 6:
            return content.partition(b"\n")[2]
        case 7:
            return content.partition(b"\n")[0]
        case 8:
            return content.replace(b"\n", b' "\n', 1)
        case _:
            return b"\n" + content
