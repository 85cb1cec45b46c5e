"""Programs whose lost part goes through a file, a device, the environment or a process, and comes back changed."""

import csv
import gzip
import io
import itertools
import json
import math
import operator
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import tempfile
import unittest.mock
import zipfile

import numpy as np

import arraytape as xp


def json_file(x):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.json")
        with open(path, "w") as file:
            json.dump({"mean": float(xp.mean(x))}, file)
        with open(path) as file:
            factor = json.load(file)["mean"] * 0.5 + 1.0
    return xp.sum(x * factor)


def printed_into_a_file(x):
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/spectrum.txt"
        with open(path, "w") as file:
            for value in np.asarray(x):
                print(1.0, value, file=file)
        energies, counts = np.loadtxt(path, unpack=True)
    return xp.sum(x * (energies * counts).sum() / 3.0)


def compressed_file(x):
    with tempfile.TemporaryDirectory() as folder:
        with gzip.open(f"{folder}/a.gz", "wt") as file:
            file.write(str(float(xp.mean(x))))
        with gzip.open(f"{folder}/a.gz", "rt") as file:
            factor = float(file.read()) * 0.5
    return xp.sum(x * factor)


def text_of_a_path(x):
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "state").write_text(repr(float(xp.mean(x))))
        factor = float((pathlib.Path(folder) / "state").read_text()) * 0.5
    return xp.sum(x * factor)


def file_descriptor(x):
    with tempfile.TemporaryDirectory() as folder:
        descriptor = os.open(os.path.join(folder, "q"), os.O_CREAT | os.O_RDWR)
        os.write(descriptor, str(float(xp.mean(x))).encode())
        os.close(descriptor)
        with open(os.path.join(folder, "q")) as file:
            factor = float(file.read()) * 0.5
    return xp.sum(x * factor)


def copied_file(x):
    with tempfile.TemporaryDirectory() as folder:
        first, second = os.path.join(folder, "a.pickle"), os.path.join(folder, "b.pickle")
        with open(first, "wb") as file:
            pickle.dump(x.tolist(), file)
        shutil.copy(first, second)
        with open(second, "rb") as file:
            factor = sum(pickle.load(file)) * 0.25
    return xp.sum(x * factor)


def environment(x):
    os.environ["ARRAYTAPE_TEST_FACTOR"] = str(float(xp.mean(x)))
    factor = float(os.getenv("ARRAYTAPE_TEST_FACTOR")) * 0.5
    del os.environ["ARRAYTAPE_TEST_FACTOR"]
    return xp.sum(x * factor)


def patched_environment(x):
    with unittest.mock.patch.dict(os.environ, {"ARRAYTAPE_TEST_L2": str(float(xp.sum(x)))}):
        strength = float(os.environ.get("ARRAYTAPE_TEST_L2", "0.0")) * 0.1
    return xp.sum(x**2) * strength


def child_process(x):
    code = "print(2 * float(input()))"
    given = str(float(xp.mean(x)))
    done = subprocess.run([sys.executable, "-c", code], input=given, capture_output=True, text=True)
    return xp.sum(x) * float(done.stdout)


def member_of_an_archive(x):
    blob = io.BytesIO()
    with zipfile.ZipFile(blob, "w") as archive:
        archive.writestr("mean", str(float(xp.mean(x))))
    with zipfile.ZipFile(blob) as archive:
        factor = float(archive.read("mean")) * 0.5
    return xp.sum(x * factor)


def rows_of_a_table(x):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "rows.csv")
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([[k, float(v)] for k, v in enumerate(x)])
        with path.open(newline="") as file:
            total = sum(float(row[1]) for row in csv.reader(file))
    return xp.sum(x) * total * 0.25


def unzipped_records(x):
    quotes = [{"price": float(p), "size": k} for k, p in enumerate(x)]
    quotes.sort(key=operator.itemgetter("price"))
    prices, sizes = zip(*map(operator.itemgetter("price", "size"), quotes), strict=True)
    return xp.sum(x * sum(map(operator.mul, prices, sizes)))


def transposed_rows(x):
    rows = [(float(p), k) for k, p in enumerate(x)]
    firsts, _ = zip(*rows, strict=True)
    return xp.sum(x) * math.fsum(firsts) * 0.5


def starred_product(x):
    pair = [[float(x[0]), float(x[1])], [1.0, 2.0]]
    return xp.sum(x) * sum(a * b for a, b in itertools.product(*pair))
