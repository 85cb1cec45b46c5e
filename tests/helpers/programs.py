"""Programs in processes of their own, of which none imports the libraries again that all of them use.

One process imports these, and forks for each program: of a small example the imports are most of its
time.  What the programs import of arraytape they import themselves.
"""

import importlib
import json
import os
import runpy
import select
import subprocess
import sys
from pathlib import Path

LIBRARIES = (
    "matplotlib.pyplot", "scipy.linalg", "scipy.ndimage", "scipy.optimize", "scipy.signal",
    "scipy.stats", "sklearn.cross_decomposition", "sklearn.datasets", "sklearn.decomposition",
    "sklearn.gaussian_process", "sklearn.linear_model", "sklearn.model_selection", "sklearn.svm",
)  # fmt: skip


class Programs:
    """Runs programs as ``subprocess.run([sys.executable, program, *options])`` does.

    folder : where their output is written.  environment, timeout : of each.
    """

    def __init__(self, folder, environment, timeout):
        self._out, self._err = folder / "out", folder / "err"
        self._timeout = timeout
        self._server = subprocess.Popen(
            [sys.executable, __file__],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )

    def run(self, program, *options):
        """Return the exit status of a program, and what it wrote."""
        asked = [str(program), list(options), str(self._out), str(self._err)]
        self._server.stdin.write(json.dumps(asked) + "\n")
        self._server.stdin.flush()
        if not select.select([self._server.stdout], [], [], self._timeout)[0]:
            os.killpg(self._server.pid, 9)
            raise subprocess.TimeoutExpired(program, self._timeout)
        status = int(self._server.stdout.readline())
        out, err = (path.read_text(encoding="utf-8") for path in (self._out, self._err))
        return subprocess.CompletedProcess([program, *options], status, out, err)

    def close(self):
        self._server.stdin.close()
        self._server.stdout.close()
        self._server.wait()


def serve():
    """Fork for each line of the standard input, and answer with the exit status."""
    for library in LIBRARIES:
        importlib.import_module(library)
    for line in sys.stdin:
        process = os.fork()
        if not process:
            become(*json.loads(line))
            return
        _, status = os.waitpid(process, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def become(program, options, out, err):
    """Run a program in this process."""
    for descriptor, path in enumerate((os.devnull, out, err)):
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(file, descriptor)
        os.close(file)
    sys.argv, sys.path[0] = [program, *options], str(Path(program).parent)
    runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    serve()
