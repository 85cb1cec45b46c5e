"""A process that runs steps of PyTorch or JAX on the benchmarks' workloads for status/ratios.py.

    PYTHONPATH=src:asv_bench python tools/peer_steps.py torch

reads a question from each line of standard input as JSON, and prints its answer as JSON.
["start", name] prepares the step of a workload; the answer is a digest of its gradients, or the reason
for which there is no step.  ["burst", count] runs the step; the answer is the CPU seconds of one step.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from time import process_time
from typing import Any

import numpy as np

from status.ratios import STEPS, digest

Step = Callable[[], Sequence[Any]]


class TorchNamespace:
    """An array API namespace of PyTorch's functions, with the functions that the workloads call."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch

    def __getattr__(self, name: str) -> Any:
        return getattr(self.torch, name)

    def maximum(self, x: Any, bound: float) -> Any:
        return self.torch.clamp_min(x, bound)

    def max(self, x: Any, axis: int, keepdims: bool) -> Any:
        return self.torch.amax(x, axis, keepdim=keepdims)

    def take(self, x: Any, indices: Any, axis: int) -> Any:
        return self.torch.index_select(x, axis, indices)


def torch_step(name: str) -> Step:
    import torch

    torch.set_num_threads(1)
    work, order = STEPS[name]()
    xp = TorchNamespace(torch)
    parameters = [torch.tensor(p, requires_grad=True) for p in work.parameters]
    put_data(work, torch.tensor)
    if order == "jacobian":
        return lambda: [
            torch.autograd.functional.jacobian(
                lambda x: work.f(xp, x), parameters[0].detach(), vectorize=True
            )
        ]
    if order == "hessian":
        along = [torch.tensor(v) for v in work.along]

        def product() -> Sequence[Any]:
            y = work.f(xp, *parameters)
            first = torch.autograd.grad(y, parameters, create_graph=True)
            return torch.autograd.grad(first, parameters, along)

        return product
    return lambda: torch.autograd.grad(work.f(xp, *parameters), parameters)


def jax_step(name: str) -> Step:
    import jax

    jax.config.update("jax_enable_x64", True)
    work, order = STEPS[name]()
    if order == "writes":
        raise NotImplementedError("JAX's arrays cannot be written to")
    xp = jax.numpy
    parameters = [xp.asarray(p) for p in work.parameters]
    put_data(work, xp.asarray)

    def value(*given: Any) -> Any:
        return work.f(xp, *given)

    everything = tuple(range(len(parameters)))
    gradient = jax.grad(value, everything)
    if order == "jacobian":
        run = jax.jit(lambda *given: (jax.jacrev(value)(*given),))
    elif order == "hessian":
        along = tuple(xp.asarray(v) for v in work.along)
        run = jax.jit(lambda *given: jax.jvp(gradient, given, along)[1])
    else:
        run = jax.jit(lambda *given: jax.value_and_grad(value, everything)(*given)[1])
    return lambda: jax.block_until_ready(run(*parameters))


def put_data(work: Any, made: Callable[[Any], Any]) -> None:
    """Convert the data of the workload to the peer's arrays."""
    data = vars(work).get("data")
    if data is not None:
        arrays = [np.array(x) for x in data] if isinstance(data, tuple) else np.array(data)
        work.data = tuple(map(made, arrays)) if isinstance(data, tuple) else made(arrays)


def main() -> None:
    make = {"torch": torch_step, "jax": jax_step}[sys.argv[1]]
    with os.fdopen(os.dup(1), "w", buffering=1) as answers:
        os.dup2(2, 1)  # the output of the libraries goes to standard error
        for line in sys.stdin:
            question, given = json.loads(line)
            answer: Any
            if question == "start":
                try:
                    step = make(given)
                    answer = {"digest": digest([np.asarray(g) for g in step()])}
                except Exception as error:
                    answer = {"none": f"{type(error).__name__}: {error}"}
            else:
                start = process_time()
                for _ in range(given):
                    step()
                answer = (process_time() - start) / given
            print(json.dumps(answer), file=answers)


if __name__ == "__main__":
    main()
