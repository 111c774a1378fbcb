"""The conformance kit: verdicts on any producer and any consumer, with rule ids.

It imports `interchange.abi` and nothing else of ours, so that it can judge interchange too.
"""
