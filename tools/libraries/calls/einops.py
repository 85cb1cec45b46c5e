"""Calls of einops, with the backend of the guide's recipe, and of ``einops.array_api``."""

from ..data import normal
from ..facts import LIST, Library, call
from ..recipes import set_up


def prepare(_: str) -> None:
    set_up("einops")


X, Y = normal(2, 3, 4), normal(4, 3)
CALLS = [
    *(
        call(f"{path}{name}", X, pattern, name=f"{path}{name}", **sizes)
        for path in ("", "array_api.")
        for name, pattern, sizes in (
            ("rearrange", "a b (c d) -> c (a d) b", {"c": 2}),
            ("reduce", "a b c -> a c", {"reduction": "mean"}),
            ("repeat", "a b c -> a (b r) c", {"r": 2}),
        )
    ),
    *(
        call("reduce", X, "a b c -> b", name, name=f"reduce, {name!r}")
        for name in ("sum", "max", "min", "prod")
    ),
    call("einsum", X, Y, "a b c, c d -> a d b"),
    call("pack", [X, normal(2, 4)], "a * c"),
    call("unpack", X, [[1], [2]], "a * c"),
    call("array_api.pack", [X, normal(2, 4)], "a * c", name="array_api.pack"),
    call("array_api.unpack", X, [[1], [2]], "a * c", name="array_api.unpack"),
]
LIBRARY = Library("einops", "einops", LIST, CALLS, prepare, recipe="einops")
