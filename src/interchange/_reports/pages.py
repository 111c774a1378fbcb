"""Pages of HTML, by Jinja2: one layout and one style, and text that is neither markup nor hidden.

Source: Jinja2, "API" and "Template Designer Documentation"; CSP level 3 for the
hashes.  The base install has no Jinja2, so that it is imported when a page is made.
"""

from __future__ import annotations

import base64
import hashlib
from importlib import resources
from typing import TYPE_CHECKING, Final, NamedTuple

from .texts import command_that_installs, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jinja2 import Environment

_FOLDER: Final = "page"
"""Of a package: where its templates, styles and scripts are."""
_OWN: Final = "interchange._reports"
_REQUIREMENT: Final = "jinja2>=3.1"


class Section(NamedTuple):
    """A section of a page.

    Attributes
    ----------
    key : str
        Its id, which links lead to.
    heading : str
        What stands above it.
    template : str
        What writes it.
    content : object
        What the template reads, as ``section.content``.
    """

    key: str
    heading: str
    template: str
    content: object


def why_no_pages() -> str | None:
    """Return why no page can be made here, and what to do about it; None where one can."""
    try:
        import jinja2  # noqa: F401 - whether it is there
    except ModuleNotFoundError:
        command = command_that_installs(_REQUIREMENT)
        return f"a page takes Jinja2, which is not installed; install it with: {command}"
    return None


def render(package: str, template: str, *, scripts: Sequence[str] = (), **facts: object) -> str:
    """Return a page that needs nothing else: whatever is in the facts, it is shown as text.

    Parameters
    ----------
    package : str
        Name of the one whose folder ``page`` has the templates and scripts beside those of here.
    template : str
        Name of the page's template: ``"page.html"``, or one that extends it.
    scripts : sequence of str, optional
        Names of what runs in the page; without any, nothing may.
    **facts : object
        What the template reads.
    """
    from markupsafe import Markup

    style = _asset(_OWN, "page.css")
    script = "".join(_asset(package, name) for name in scripts)
    page = _environment(package).get_template(template)
    text = page.render(
        policy=_policy(style, script),
        style=Markup(style),  # noqa: S704 - our own file
        script=Markup(script),  # noqa: S704 - likewise
        **facts,
    )
    return f"{printable(text)}\n"


def _environment(package: str) -> Environment:
    """Return what reads templates: those of here, and those of a package."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(one, _FOLDER) for one in (_OWN, package)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    return environment


def _asset(package: str, name: str) -> str:
    """Return a file of a page."""
    return (resources.files(package) / _FOLDER / name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Return what a browser may do for a page: its own style and script, and nothing else."""
    allowed = {"style-src": style, "script-src": script}
    hashes = "".join(f"{key} '{_hash(text)}'; " for key, text in allowed.items() if text)
    return f"default-src 'none'; {hashes}img-src data:; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    """Return the hash by which a policy knows an element's text."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
