"""The CUDA driver that checks run on: the emulated one, or that of this machine."""
