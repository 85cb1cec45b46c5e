"""Command-line arguments that the examples share: types for argparse, with error messages."""

import argparse
import os
from collections.abc import Callable
from pathlib import Path

SUFFIXES = (".png", ".pdf", ".svg")


def integer(least: int) -> Callable[[str], int]:
    """Return a type for argparse that accepts integers of at least `least`."""

    def parse(text: str) -> int:
        value = int(text) if text.removeprefix("-").isdecimal() else None
        if value is None or value < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not an integer of at least {least}")
        return value

    return parse


def picture(text: str) -> Path:
    """Return the path of a plot (a type for argparse); its folder is made, and must be writable."""
    path = writable(text)
    if path.suffix.lower() not in SUFFIXES:
        raise argparse.ArgumentTypeError(f"'{path}' must end in one of {', '.join(SUFFIXES)}")
    return path


def writable(text: str) -> Path:
    """Return the path of a file (a type for argparse); its folder is made, and must be writable."""
    path = Path(text)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise argparse.ArgumentTypeError(f"cannot write to '{path}': {error.strerror}") from None
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise argparse.ArgumentTypeError(f"cannot write to '{path}': a folder, or no permission")
    return path


def parser_with_out(description: str, default: str) -> argparse.ArgumentParser:
    """Return a parser with the option --out for the file of the plot."""
    parser = argparse.ArgumentParser(description=description)
    text = "plot: .png, .pdf or .svg (%(default)s)"
    parser.add_argument("--out", type=picture, default=default, help=text)
    return parser


def verdict(worst: float, tolerance: float, out: Path) -> int:
    """Print whether the gradients agree, and the path of the plot; return the exit code."""
    agree = worst <= tolerance
    print(
        f"\nlargest relative difference: {worst:.1e} ({'' if agree else 'NOT '}<= {tolerance:.0e})"
    )
    print(f"plot: {out}")
    return 0 if agree else 1
