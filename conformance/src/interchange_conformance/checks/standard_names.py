"""The names and signatures of the array API standard, in the functions of interchange.

Source: array API standard 2025.12, Creation functions and Array object.  What may be added are
keywords with defaults.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from interchange_conformance.findings import expect
from interchange_conformance.registry import area
from interchange_conformance.signatures import signature_of

from ._refusals import floats

if TYPE_CHECKING:
    import inspect

    from interchange_conformance.probes.under_test import FunctionsUnderTest
    from interchange_conformance.registry import Decorator

check: Decorator = area("functions")

_STANDARD: Final = "array API standard 2025.12"


class Signature(NamedTuple):
    """What a function of the standard takes, but for self.

    Attributes
    ----------
    owner : str
        Where it is found: ``""`` for the namespace, ``"Array"`` for the array object.
    name : str
        Its name.
    positional : int
        How many arguments are passed by position.
    keywords : tuple of str
        Keywords, each of them None when left out.
    """

    owner: str
    name: str
    positional: int
    keywords: tuple[str, ...] = ()


SIGNATURES: Final = {
    "from-dlpack": Signature("", "from_dlpack", 1, ("device", "copy")),
    "asarray": Signature("", "asarray", 1, ("dtype", "device", "copy")),
    "dlpack": Signature("Array", "__dlpack__", 0, ("stream", "max_version", "dl_device", "copy")),
    "dlpack-device": Signature("Array", "__dlpack_device__", 0),
    "to-device": Signature("Array", "to_device", 1, ("stream",)),
    "getitem": Signature("Array", "__getitem__", 1),
    "bool": Signature("Array", "__bool__", 0),
}


@check("IX-API-1", source=_STANDARD, cases=SIGNATURES)
def functions_have_the_signatures_of_the_standard(
    functions: FunctionsUnderTest, case: Signature
) -> None:
    """A function that the standard names takes what it takes there, under the same names.

    Keep the order of positional arguments and the names of keywords; further keywords have
    defaults.
    """
    owner = getattr(functions.namespace, case.owner) if case.owner else functions.namespace
    function: Any = getattr(owner, case.name, None)
    expect(callable(function), f"{case.owner or 'the namespace'} has no {case.name}()")
    wrong = _differences(signature_of(function), case)

    expect(not wrong, f"{case.name}{signature_of(function)}: {'; '.join(wrong)}")


def _differences(found: inspect.Signature, due: Signature) -> list[str]:
    """Return in what a signature differs from that of the standard, as text."""
    parameters = list(found.parameters.values())[1 if due.owner else 0 :]
    by_position = [p for p in parameters if p.kind in {p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD}]
    needed = [p for p in by_position if p.default is p.empty]
    by_name = {p.name: p for p in parameters if p.kind in {p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD}}
    wrong = []
    if len(needed) != due.positional:
        wrong.append(f"{len(needed)} arguments are needed by position, due: {due.positional}")
    for name in due.keywords:
        if name not in by_name:
            wrong.append(f"there is no keyword {name}")
        elif by_name[name].default is not None:
            wrong.append(f"the default of {name} is {by_name[name].default!r}, due: None")
    wrong += [
        f"the keyword {name} has no default"
        for name, parameter in by_name.items()
        if name not in due.keywords and parameter.kind is parameter.KEYWORD_ONLY
        if parameter.default is parameter.empty
    ]
    return wrong


ATTRIBUTES: Final[dict[str, tuple[str, Any]]] = {
    "dtype": ("dtype", None),
    "device": ("device", None),
    "shape": ("shape", (2, 3)),
    "ndim": ("ndim", 2),
    "size": ("size", 6),
    "transpose": ("T", None),
    "matrix-transpose": ("mT", None),
}


@check("IX-API-1", source=f"{_STANDARD}, Array object, Attributes", cases=ATTRIBUTES)
def arrays_have_the_attributes_of_the_standard(
    functions: FunctionsUnderTest, case: tuple[str, Any]
) -> None:
    """An Array has the attributes of the standard's array object.

    Make them properties.
    """
    name, due = case
    found = getattr(floats(functions.namespace), name, None)

    expect(found is not None and not callable(found), f"{name} is {found!r:.100}")
    expect(due is None or found == due, f"{name} is {found!r:.100}, due: {due}")
