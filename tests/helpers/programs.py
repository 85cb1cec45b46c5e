"""Programs in processes of their own that share the time for imports.

A server process imports the libraries (not arraytape) once, and forks for each program, because imports
take most of the time of a small example.  The programs import arraytape themselves.
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
    """A server that runs programs like ``subprocess.run([sys.executable, program, *options])``.

    folder : the folder of the files "out" and "err", to which output is redirected.
    environment : the environment variables.  timeout : seconds for each program.
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
        """Run a program; return its exit status, its output and its errors."""
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
    """Fork for each line of standard input, run its program, and print the exit status."""
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
    """Redirect the standard streams and run a program in this (forked) process."""
    for descriptor, path in enumerate((os.devnull, out, err)):
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(file, descriptor)
        os.close(file)
    sys.argv, sys.path[0] = [program, *options], str(Path(program).parent)
    runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    serve()
