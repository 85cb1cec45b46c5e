"""SciPy's own way to other namespaces, also without SCIPY_ARRAY_API=1, and for lists of Arrays."""

from __future__ import annotations

from typing import Any

import arraytape

from ._hooks import original_of
from ._statements import hooks


@hooks("scipy._lib._array_api", "array_namespace")
def array_namespace(*arrays: Any) -> Any:
    """Ours, wherever an Array is among the arrays, perhaps beside NumPy's."""
    return arraytape


@hooks("scipy.special._logsumexp", "logsumexp")
def logsumexp(a: Any, *args: Any, **keywords: Any) -> Any:
    """SciPy's own, which takes Arrays but no lists of them."""
    import scipy.special

    if keywords.get("b") is not None:
        keywords["b"] = arraytape.asarray(keywords["b"])
    return original_of(scipy.special.logsumexp)(arraytape.asarray(a), *args, **keywords)
