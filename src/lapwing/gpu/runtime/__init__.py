"""The driver, the compiler and memory: what every GPU program needs, and nothing about assignments.

`toolkit` loads NVIDIA's packages; `programs` is the table of kernels; `compile`, `cache`, `background_build` and
`shipped` make or find machine code; `device`, `launch`, `arrays`, `copies` and `workspace` run it; `peers` connects
several GPUs. Called by every other package of `gpu`; imports none of them.
"""
