"""The CUDA driver that checks use: the emulated one, or that of this machine."""
