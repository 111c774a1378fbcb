"""How the docs are built: Sphinx, MyST and furo.  Nothing is fetched while they are.

Source: Sphinx, "Configuration".  ``sphinx-build -nW -b html docs docs/_build/html`` makes the
pages, ``sphinx-build -b doctest docs docs/_build/doctest`` runs every example in them.
"""

from __future__ import annotations

import doctest
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "conformance"))  # for the mutants

os.environ["INTERCHANGE_CORE"] = "ctypes"  # whose sources autodoc reads: annotations and order
os.environ["INTERCHANGE_CACHE_DIR"] = ""  # examples leave nothing in the user's cache of kernels
os.environ["SCIPY_ARRAY_API"] = "1"  # before any example imports SciPy, which reads it then only

import api_pages
import tables

import interchange

project = "interchange"
author = "the interchange developers"
release = interchange.__version__
html_title = "interchange"
html_favicon = "_static/favicon.svg"
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["tables.css", "heat-maps.css"]
html_js_files = ["scrolling.js"]
templates_path = ["_templates"]
html_show_copyright = False
html_copy_source = False

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.doctest",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinxarg.ext",
    "api_pages",
    "descriptions",
    "finishing",
    "kit_pages",
    "matrix_pages",
    "verdict_pages",
    "figures",
    "generated",
    "links",
    "programs",
    "sources",
]
exclude_patterns = ["_build", "_ext", "_generated", "_templates", "changes"]
nitpicky = True
suppress_warnings = ["autosummary.import_cycle"]  # the tables name objects in full
smartquotes = False  # names in quotes are to be copied as they are
default_role = "plain"

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "substitution"]
myst_heading_anchors = 3
myst_substitutions = tables.facts()

autodoc_typehints = "none"  # docstrings say it, with units
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autosummary_context = {"options": api_pages.OPTIONS, "methods_of_bases": api_pages.METHODS}
autosummary_filename_map = api_pages.NAMES
autosummary_generate = True
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_rtype = False

# The docs of Python and of NumPy are not fetched, so that names of theirs lead nowhere.  Words that
# say a type in a docstring ("tuple of int or None") are for people.  Names of ours must be found.
nitpick_ignore_regex = [
    ("py:class", r"(?!interchange)[^A-Z].*"),
    ("py:exc", r"(?:BufferError|ImportError|TypeError|ValueError)"),
]

doctest_default_flags = doctest.ELLIPSIS | doctest.DONT_ACCEPT_TRUE_FOR_1
doctest_global_setup = """
import interchange as ix
from interchange import *
from interchange.abi import *
from interchange.testing import *
"""  # docstrings name their neighbours without importing them

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
