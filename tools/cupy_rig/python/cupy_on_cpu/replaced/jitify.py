"""A replacement of cupy.cuda.jitify, which the rig does not use."""
