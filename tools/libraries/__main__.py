"""Try the functions of libraries on Arrays, and compare with what their tables state.

    PYTHONPATH=src:tools python -m libraries                     # all libraries that are installed
    PYTHONPATH=src:tools python -m libraries pyriemann --calls norm --peers torch,jax

The exit code is 0 only if each call is right, or its table gives a reason for which it is not.
"""

from __future__ import annotations

import argparse
import sys

from .trials import installed, tried
from .verdicts import backends


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("libraries", nargs="*", help="names of packages; all if there are none")
    parser.add_argument("--calls", default="", help="only calls with this text in their name")
    parser.add_argument("--peers", default="", help="torch,jax: try these, too")
    options = parser.parse_args(arguments)
    code = 0
    for library in installed(options.libraries):
        for row in tried(library, backends(options.peers.split(",")), options.calls):
            print(row.text(), flush=True)
            code |= bool(row.fault())
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
