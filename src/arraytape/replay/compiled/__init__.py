"""Programs as machine code: loops that LLVM compiles, and calls of the C loops of NumPy's ufuncs."""
