"""Layer 4: the protocols: DLPack, the CUDA Array Interface, Arrow, buffers, `__array_interface__`."""
