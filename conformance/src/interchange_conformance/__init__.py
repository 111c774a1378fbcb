"""The conformance kit: verdicts on producers and consumers of arrays, with rule ids.

It imports only `interchange.abi` from interchange, so that it can test interchange as well.
"""
