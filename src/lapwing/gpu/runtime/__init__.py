"""The driver, the compiler and memory: what every GPU program needs, and nothing about assignments.

`toolkit` loads NVIDIA's packages; `programs` is the table of kernels; `compile`, `cache` and `background_build` make
machine code; `device`, `launch`, `arrays`, `copies` and `workspace` run it. Called by every other package of `gpu`;
imports none of them.
"""
