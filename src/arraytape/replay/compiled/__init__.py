"""Programs as machine code: loops that LLVM compiles, and calls of NumPy's own inner loops."""
