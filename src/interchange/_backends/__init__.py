"""Layer 4: the libraries that compute, each seen through the standard's names."""
