"""Ways to damage the files of a model, drawn from a seeded generator, and the digests made anew as anybody could."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable
from typing import Any

import torch
from safetensors.torch import load, save
from torch import Tensor

Files = dict[str, bytes]
DOCUMENTS = ("config.json", "preprocessing.json", "metrics.json", "calibration.json", "thresholds.json")
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 3, 0.5, 1.5, 10**9, 2**31, 2**63, -(2**63), 10**30, 1e-300, 1e300, -1e300),
    *(float("nan"), float("inf"), float("-inf"), "", "x", "nodes", "links", "tree", "gtea", "nan", "../../etc/passwd"),
    *([], [[]], [None], {}, {"": 0}, [0] * 50, "x" * 5000, [1e300, 1, "x"]),
)


def signed(files: Files) -> Files:
    """The same files with a manifest that has their digests and its own."""
    manifest = json.loads(files["manifest.json"])
    manifest.pop("sha256", None)
    manifest["files"] = {name: hashlib.sha256(files[name]).hexdigest() for name in manifest["files"]}
    own = hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()
    return {**files, "manifest.json": json.dumps({**manifest, "sha256": own}).encode()}


def damaged(files: Files, rng: random.Random) -> tuple[str, Files]:
    """What was done, and the files after it, signed."""
    kind = rng.choice(("value", "value", "value", "bytes", "cut", "tensor", "tensor", "swap", "manifest"))
    change: Callable[[Files, random.Random], tuple[str, Files]] = {
        "value": _value,
        "bytes": _bytes,
        "cut": _cut,
        "tensor": _tensor,
        "swap": _swap,
        "manifest": _manifest,
    }[kind]
    what, changed = change(files, rng)
    return f"{kind}: {what}", changed


def _value(files: Files, rng: random.Random) -> tuple[str, Files]:
    name = rng.choice(DOCUMENTS)
    content = json.loads(files[name])
    what = _change(content, rng)
    return f"{name} {what}", signed({**files, name: json.dumps(content).encode()})


def _manifest(files: Files, rng: random.Random) -> tuple[str, Files]:
    """Change the manifest, and nothing but its own digest with it."""
    content = json.loads(files["manifest.json"])
    content.pop("sha256", None)
    what = _change(content, rng)
    own = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    return what, {**files, "manifest.json": json.dumps({**content, "sha256": own}).encode()}


def _change(content: Any, rng: random.Random) -> str:
    """Change one value somewhere in a document."""
    place, way = content, ""
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = rng.choice(keys)
        way = f"{way}.{key}"
        if isinstance(place[key], dict | list) and place[key] and rng.random() < 0.85:
            place = place[key]
            continue
        break
    match rng.randrange(5):
        case 0:
            del place[key]
            return f"{way} deleted"
        case 1 if isinstance(place, dict):
            place["added"] = rng.choice(VALUES)
            return f"{way} added"
        case 1 | 2 if isinstance(place, list):
            place.append(rng.choice([*place, rng.choice(VALUES)]))
            return f"{way} appended"
        case 3 if isinstance(place[key], int | float):
            place[key] = rng.choice([place[key] * 10, place[key] + 1, -place[key], place[key] - 1, float(place[key])])
            return f"{way} = {place[key]}"
        case _:
            place[key] = rng.choice(VALUES)
            return f"{way} = {place[key]!r:.40}"


def _bytes(files: Files, rng: random.Random) -> tuple[str, Files]:
    name = rng.choice(sorted(files))
    content = bytearray(files[name])
    for _ in range(rng.choice((1, 1, 4, 50))):
        # Headers are at the start.
        place = rng.randrange(min(len(content), rng.choice((16, 2000, len(content)))))
        content[place] ^= 1 << rng.randrange(8)
    return name, {**files, name: bytes(content)} if name == "manifest.json" else signed({**files, name: bytes(content)})


def _cut(files: Files, rng: random.Random) -> tuple[str, Files]:
    name = rng.choice(sorted(files))
    content = files[name]
    size = rng.randrange(len(content))
    made = content[:size] if rng.random() < 0.7 else content + content[:size]
    return name, {**files, name: made} if name == "manifest.json" else signed({**files, name: made})


def _swap(files: Files, rng: random.Random) -> tuple[str, Files]:
    one, other = rng.sample(sorted(set(files) - {"manifest.json"}), 2)
    return f"{one} and {other}", signed({**files, one: files[other], other: files[one]})


def _tensor(files: Files, rng: random.Random) -> tuple[str, Files]:
    weights = load(files["model.safetensors"])
    if not weights:
        return _bytes(files, rng)
    name = rng.choice(sorted(weights))
    what = _change_tensor(weights, name, rng)
    content = save({key: value.contiguous() for key, value in weights.items()})
    return f"{name} {what}", signed({**files, "model.safetensors": content})


def _change_tensor(weights: dict[str, Tensor], name: str, rng: random.Random) -> str:
    tensor = weights[name]
    match rng.randrange(9):
        case 0:
            del weights[name]
            return "deleted"
        case 1:
            weights[f"{name}_2"] = tensor.clone()
            return "added"
        case 2:
            dtype = rng.choice([torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool])
            weights[name] = tensor.to(dtype)
            return f"as {dtype}"
        case 3:
            weights[name] = tensor.flatten() if rng.random() < 0.5 else tensor[None]
            return "reshaped"
        case 4:
            weights[name] = torch.cat([tensor.flatten()] * 2)[: rng.randrange(1, 2 * tensor.numel() + 2)]
            return "resized"
        case 5:
            other = rng.choice(sorted(weights))
            weights[name], weights[other] = weights[other].clone(), tensor.clone()
            return f"swapped with {other}"
        case 6:
            weights[name] = tensor[tensor.shape[0] :] if tensor.dim() else tensor[None]
            return "emptied"
        case _ if tensor.numel():
            flat = tensor.clone().flatten()
            numbers = (float("nan"), float("inf"), float("-inf"), 1e30, -1e30, 1e-40)
            choices = numbers if tensor.is_floating_point() else (-1, 0, 1, 5, 10**6, 2**62)
            value = rng.choice(choices)
            flat[rng.randrange(len(flat))] = min(value, 255) % 256 if tensor.dtype == torch.uint8 else value
            weights[name] = flat.view_as(tensor)
            return f"has {value}"
        case _:
            return "unchanged"
