"""Forks beside threads that use the package for the first time, while its modules are imported."""

import random
import subprocess
import sys

from .attack import Attack

FORKS = 2  # of a process: only the first ones find modules that are not loaded
USES = [
    "xp.asarray([1.0])", "xp.linalg.svd", "xp.fft.fft", "xp.special.erf", "xp.nn.Dense(2)",
    "xp.GradientTape()", "xp.optimizers.Adam", "xp.diagnose.explain", "xp.implicit.root", "xp.vmap",
    "xp.function(abs)", "xp.Variable([1.0])", "xp.grad(lambda x: x * x)(2.0)", "xp.Module()",
    "xp.testing.check_gradients", "np.sum(xp.asarray([1.0]))",
    "xp.exp(xp.asarray([1.0])) + xp.linalg.inv(xp.eye(2))", "xp.checkpoint", "xp.interop.scipy",
]  # fmt: skip
PROGRAM = """
import faulthandler, os, sys, threading, time, warnings
import numpy as np
import arraytape as xp
warnings.simplefilter("ignore", DeprecationWarning)
sys.setswitchinterval({interval})
uses = {uses}
begin = threading.Barrier(len(uses) + 1)
failed = []
def use(text):
    begin.wait()
    try:
        eval(text)
    except BaseException as error:
        failed.append(repr(error))
threads = [threading.Thread(target=use, args=(text,)) for text in uses]
for thread in threads:
    thread.start()
begin.wait()
for delay in {delays}:
    time.sleep(delay)
    child = os.fork()
    if not child:
        faulthandler.dump_traceback_later(15, exit=True)
        for text in {child}:
            eval(text)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == 0, status
for thread in threads:
    thread.join(15)
assert not failed, failed
"""


def run(seed):
    """One process, and its forks."""
    rng = random.Random(seed)
    uses = rng.sample(USES, rng.randint(1, 4))
    program = PROGRAM.format(
        interval=rng.choice([1e-6, 1e-4, 0.005]),
        uses=uses,
        delays=[rng.choice([0.0, 0.02, 0.1]) * rng.random() for _ in range(FORKS)],
        child=uses + rng.sample(USES, 2),
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, f"first uses, seed {seed}:\n{done.stderr[-3000:]}\n{program}"
    return FORKS


ATTACK = Attack(run, "forks beside first uses")
