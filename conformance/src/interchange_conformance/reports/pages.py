"""HTML pages, by Jinja2: one layout and style; text is escaped and invisible characters are shown.

Source: Jinja2, "API" and "Template Designer Documentation"; CSP level 3 for the hashes.  Jinja2 is
imported only when a page is made.
"""

from __future__ import annotations

import base64
import hashlib
from importlib import resources
from typing import TYPE_CHECKING, Final, NamedTuple

from .texts import install_command, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jinja2 import Environment

_PACKAGE: Final = "interchange_conformance.reports"
_FOLDER: Final = "page"
"""Package folder of templates, styles and scripts."""
_REQUIREMENT: Final = "jinja2>=3.1"


class Section(NamedTuple):
    """A section of a page.

    Attributes
    ----------
    key : str
        Its id, the target of links.
    heading : str
        Its heading.
    template : str
        Name of its template.
    content : object
        Data of the template, as ``section.content``.
    """

    key: str
    heading: str
    template: str
    content: object


def why_no_pages() -> str | None:
    """Return why no page can be made, and the fix; None if Jinja2 is installed."""
    try:
        import jinja2  # noqa: F401 - tests whether it is installed
    except ModuleNotFoundError:
        command = install_command(_REQUIREMENT)
        return f"pages need Jinja2, which is not installed; install it with: {command}"
    return None


def render(template: str, *, scripts: Sequence[str] = (), **facts: object) -> str:
    """Return a page that loads no other resource; every fact is shown as text.

    Parameters
    ----------
    template : str
        Name of the page's template: ``"page.html"``, or one that extends it.
    scripts : sequence of str, optional
        Names of the page's scripts; none by default.
    **facts : object
        Data of the template.
    """
    from markupsafe import Markup

    style = _asset("page.css")
    script = "".join(map(_asset, scripts))
    text = (
        _environment()
        .get_template(template)
        .render(
            policy=_policy(style, script),
            style=Markup(style),  # noqa: S704 - our own file
            script=Markup(script),  # noqa: S704 - likewise
            **facts,
        )
    )
    return f"{printable(text)}\n"


def _environment() -> Environment:
    """Return the Jinja2 environment."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(_PACKAGE, _FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    return environment


def _asset(name: str) -> str:
    """Return the text of a file in the folder."""
    return (resources.files(_PACKAGE) / _FOLDER / name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Return the content security policy: only the page's own style and script are permitted."""
    allowed = {"style-src": style, "script-src": script}
    hashes = "".join(f"{key} '{_hash(text)}'; " for key, text in allowed.items() if text)
    return f"default-src 'none'; {hashes}img-src data:; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    """Return the hash of an element's text, in the form of a policy."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
