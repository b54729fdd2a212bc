"""The proof on a GPU, by kernels of its own: `proof` makes the certificate, `passes` reads each kind of costs once.

It shares nothing with the methods that it judges but the meaning of a cost.
"""
