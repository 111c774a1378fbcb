"""Mutants: subjects that break one rule on purpose, each with an honest counterpart.

Source: the rule book.  They show that a check can fail, and that it fails for its rule: every
check has a mutant that it catches, in the module of its name, and passes the mutant's honest
counterpart.
"""

from .model import MUTANTS, Mutant, load_mutants, mutant

__all__ = ["MUTANTS", "Mutant", "load_mutants", "mutant"]
