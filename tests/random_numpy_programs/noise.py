"""NumPy, of which what our ops add up in another order is rounded otherwise, too.

A value that jumps with the last bits of what it is made of (the sign or the angle of a sum that is 0 but
for rounding, say) is NumPy's own by accident, and nothing to compare with.
"""

from types import ModuleType

import numpy as np

from .statements import ROUNDED

NOISE = 4.0  # units in the last place of a result's largest element


def noisy_numpy(seed):
    """``np`` with noise in the results of functions in ``ROUNDED``."""
    return Noisy(np, np.random.default_rng(seed), False)


class Noisy:
    """A module or function of NumPy's; noisy : whether its results are."""

    def __init__(self, known, rng, noisy):
        self.known, self.rng, self.noisy = known, rng, noisy

    def __getattr__(self, name):
        found = getattr(self.known, name)
        if isinstance(found, type) or not (callable(found) or isinstance(found, ModuleType)):
            return found
        return Noisy(found, self.rng, self.noisy or name in ROUNDED)

    def __call__(self, *args, **options):
        found = self.known(*args, **options)
        return self.shaken(found, args) if self.noisy or "where" in options else found

    def shaken(self, found, args):
        """A result with noise, or zeros of the other sign: in its own memory, unless it is a view."""
        if isinstance(found, tuple | list):
            parts = [self.shaken(part, args) for part in found]
            return type(found)(*parts) if hasattr(found, "_fields") else type(found)(parts)
        if getattr(found, "dtype", np.dtype(int)).kind not in "fc" or not found.size:
            return found
        unit = NOISE * np.finfo(found.dtype).eps * np.max(np.abs(found))
        noise = (unit * self.rng.uniform(-1.0, 1.0, found.shape)).astype(found.dtype)
        if isinstance(found, np.generic):
            return found + found.dtype.type(noise) if found or self.rng.random() < 0.5 else -found
        if found.base is None and not any(found is x for x in args):
            turned = (found == 0) & (self.rng.random(found.shape) < 0.5)
            found[...] = np.where(turned, -found, found + noise)
        return found
