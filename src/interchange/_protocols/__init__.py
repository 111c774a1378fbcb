"""Layer 4: the protocols: DLPack, the CUDA Array Interface, Arrow, buffers, array interfaces."""
