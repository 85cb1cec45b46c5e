"""Damaged checkpoints: a load gives exactly what was saved, or the documented error and changes nothing.

Each seed makes a state, saves it, and loads copies of the file that were flipped, cut, spliced, or whose
header says something else.
"""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path

import numpy as np

from arraytape import Variable, checkpoint
from arraytape.module import Module

from .attack import Attack

DTYPES = [
    "bool",
    "int8",
    "int64",
    "uint16",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]
SHAPES = [(), (0,), (1,), (3,), (2, 2), (1, 5), (3, 1, 2)]
FILES = 60  # of one seed
ODD = [
    None, -1, 0, 1, 2, 3, 2**31, 2**53, 2**63, 2**64, 10**40, 1.5, True, "", "F64", "BF16", "C64",
    "F8_E4M3", [], [0], [-1], [2**62, 4], [[]], {}, {"a": 1}, "a" * 1000,
]  # fmt: skip


def values_of(rng):
    """Arrays of random dtypes and shapes, and of odd values."""
    found = []
    for _ in range(rng.randint(1, 4)):
        dtype, shape = rng.choice(DTYPES), rng.choice(SHAPES)
        numbers = np.random.default_rng(rng.getrandbits(32))
        value = numbers.normal(scale=9.0, size=shape)
        value = value + 1j * value[..., ::-1] if dtype.startswith("c") and shape else np.abs(value)
        found.append(np.asarray(value).astype(dtype))
    return found


def module_of(values):
    """A module with a Variable of each value."""
    module = Module("attacked")
    module.parts = [Variable(value, name=f"v{i}") for i, value in enumerate(values)]
    return module


def bytes_of(arrays):
    """What the arrays are, bit for bit."""
    hosts = [np.asarray(x) for x in arrays]
    return [(x.dtype.str, x.shape, x.tobytes()) for x in hosts]


# --- damage -------------------------------------------------------------------------------------
def flipped(rng, content, other):
    """Some bits, often in the header alone."""
    damaged = bytearray(content)
    most = rng.choice([len(content), 8 + int.from_bytes(content[:8], "little")])
    for _ in range(rng.choice([1, 1, 1, 2, 8])):
        damaged[rng.randrange(most)] ^= 1 << rng.randrange(8)
    return bytes(damaged)


def misspelt(rng, content, other):
    """Other letters in what the metadata says."""
    end = content.find(b'"},"parts')
    letters = [i for i in range(8, max(end, 8)) if chr(content[i]).isalnum()]
    damaged = bytearray(content)
    for i in rng.sample(letters, min(rng.choice([2, 8, 32, 128]), len(letters))):
        damaged[i] = rng.choice(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
    return bytes(damaged)


def cut(rng, content, other):
    return content[: rng.randrange(len(content))]


def spliced(rng, content, other):
    """A part of another checkpoint of the same model, or of this one, elsewhere."""
    start, end = sorted(rng.choices(range(len(content)), k=2))
    source = rng.choice([content, other])
    place = rng.choice([start, rng.randrange(len(source))])
    return content[:start] + source[place : place + end - start] + content[end:]


def blotted(rng, content, other):
    """A run of one byte, such as a lost block of a disk."""
    start, length = rng.randrange(len(content)), rng.choice([1, 4, 16, 64, 512])
    blot = rng.choice([b"\0", b" ", b"\xff", b"0"]) * min(length, len(content) - start)
    return content[:start] + blot + content[start + length :]


def longer(rng, content, other):
    return content + rng.choice([b"\0", b"{}", content, other])


def split(content):
    """The header as an object, and the data behind it."""
    length = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def joined(text, data):
    header = text.encode("utf-8", "surrogatepass")
    return len(header).to_bytes(8, "little") + header + data


def places(value, path=()):
    """The paths of all parts of a JSON value."""
    yield path
    parts = (
        value if isinstance(value, dict) else dict(enumerate(value)) if type(value) is list else {}
    )
    for key, part in parts.items():
        yield from places(part, (*path, key))


def replaced(value, path, part):
    """The JSON value with another part at a path."""
    if not path:
        return part
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(copy[path[0]], path[1:], part)
    return copy


def said_otherwise(rng, content, other):
    """Another value somewhere in the header, or in our entry of it."""
    header, data = split(content)
    if rng.random() < 0.4:
        ours = json.loads(header["__metadata__"]["arraytape"])
        ours = replaced(ours, rng.choice([*places(ours)]), rng.choice(ODD))
        header["__metadata__"]["arraytape"] = json.dumps(ours)
    else:
        header = replaced(header, rng.choice([*places(header)]), rng.choice(ODD))
    return joined(json.dumps(header), data)


def renamed(rng, content, other):
    """Another name for an entry, or two entries under each other's names."""
    header, data = split(content)
    owner = rng.choice([header, header["__metadata__"]])
    one, two = rng.choice([*owner]), rng.choice([*owner, "a", "arraytape", "__metadata__"])
    changed = {two if key == one else one if key == two else key: v for key, v in owner.items()}
    if owner is not header:
        changed = {**header, "__metadata__": changed}
    return joined(json.dumps(changed), data)


def twice(rng, content, other):
    """An entry that stands twice."""
    header, data = split(content)
    key = rng.choice([*header])
    entry = json.dumps({key: rng.choice([header[key], header[rng.choice([*header])], {}])})[1:-1]
    text = json.dumps(header)
    order = [text[:-1] + "," + entry + "}", "{" + entry + "," + text[1:]]
    return joined(rng.choice(order), data)


def without(rng, content, other):
    """An entry less."""
    header, data = split(content)
    owner = rng.choice([header, header["__metadata__"]])
    owner.pop(rng.choice([key for key in owner if owner is header or key == "arraytape"]))
    return joined(json.dumps(header), data)


def deep(rng, content, other):
    """Nested as no reader of JSON can follow."""
    header, data = split(content)
    mark, depth = "@deep@", rng.choice([100, 10_000, 100_000])
    if rng.random() < 0.5:
        header["__metadata__"]["arraytape"] = "[" * depth + "]" * depth
        return joined(json.dumps(header), data)
    header = replaced(header, rng.choice([*places(header)]), mark)
    return joined(json.dumps(header).replace(f'"{mark}"', "[" * depth + "]" * depth), data)


DAMAGE = [
    flipped, flipped, flipped, misspelt, cut, spliced, blotted, longer, said_otherwise, said_otherwise,
    renamed, twice, without, deep,
]  # fmt: skip


def is_foreign(content):
    """Return True if a file has no entry of ours any more, and so no checksum: see decision 0027."""
    try:
        header, _ = split(content)
        return "arraytape" not in header.get("__metadata__", {})
    except (AttributeError, RecursionError, ValueError):
        return False


def check(content, path, module, saved, foreign):
    """Load a file that may be damaged; what it did that it must not have done, or None."""
    path.write_bytes(content)
    before = bytes_of([v.value() for v in module.variables])
    for state in (None, module):
        try:
            read = checkpoint.load(path, state)
        except ValueError as error:
            if str(path) not in str(error) or "[at " not in str(error):
                return f"the message says not what was loaded, or where: {error}"
            if bytes_of([v.value() for v in module.variables]) != before:
                return f"assigned, and then raised {error}"
            continue
        except Exception as error:
            return f"raised {type(error).__name__}: {error}"
        if bytes_of([read[name] for name in sorted(read)]) != saved and not foreign:
            return f"gave {read}"
    return None


def run(seed):
    """One state, and FILES damaged copies of its checkpoint."""
    rng = random.Random(seed)
    values = values_of(rng)
    order = sorted(range(len(values)), key=lambda i: f"parts.{i}")
    saved = bytes_of([values[i] for i in order])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "attacked.safetensors"
        contents = []
        for factor in (1, 2):
            checkpoint.save(path, module_of([(x * factor).astype(x.dtype) for x in values]))
            contents.append(path.read_bytes())
        for i in range(FILES):
            damage = rng.choice(DAMAGE)
            content = damage(rng, *contents)
            module = module_of([np.zeros_like(x) for x in values])
            wrong = check(content, path, module, saved, is_foreign(content))
            assert wrong is None or content in contents, (
                f"checkpoints, seed {seed}, file {i} ({damage.__name__}): {wrong}\n{content[:2000]!r}"
            )
    return FILES


ATTACK = Attack(run, "files")
