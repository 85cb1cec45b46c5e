"""arraytape whose creation functions make array_api_strict's data: for the array API suite.

A module with the names of arraytape; importing it makes the strict storage the default one.
"""

import arraytape
from arraytape.testing.storages import strict

vars().update({k: v for k, v in vars(arraytape).items() if not k.startswith("_")})
__version__ = arraytape.__version__
__array_api_version__ = arraytape.__array_api_version__
__array_namespace_info__ = arraytape.__array_namespace_info__
arraytape.set_default_device(strict().devices()[0])
