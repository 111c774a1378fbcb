"""From the typed program to code: all that needs LLVM, by llvmlite, the extra ``kernels``."""
