"""Equal devices and equal element types are one object, in whatever order they are created."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.isolated

WAYS = ["device", "device by name", "device of a pickle"]
WAYS += ["dtype", "dtype by name", "dtype of a pickle"]


@pytest.mark.exhaustive(but=["device", "dtype of a pickle"])
@pytest.mark.parametrize("way", WAYS)
def test_two_threads_that_meet_one_first_get_one_object(run_isolated, way):
    """Threads that create one at once get one object, as comparisons by ``is`` require."""
    assert run_isolated("interning.py", "met", way).strip() == "True {}"


@pytest.mark.exhaustive(but=["device of a pickle", "dtype"])
@pytest.mark.parametrize("way", WAYS)
def test_one_that_is_let_go_of_and_asked_for_is_one_object(run_isolated, way):
    """Only dead entries are removed, not the ones that replaced them."""
    assert run_isolated("interning.py", "let_go", way).strip() == "True {}"


@pytest.mark.parametrize("way", ["device", "dtype"])
def test_many_threads_get_one_object(run_isolated, way):
    """Many threads get one object, wherever they switch."""
    assert run_isolated("interning.py", "many", way).strip() == "True {}"


@pytest.mark.parametrize("way", ["device", "dtype"])
def test_one_that_a_finaliser_revives_has_no_twin(run_isolated, way):
    """The collector clears weak references to garbage before a finaliser brings it back."""
    assert run_isolated("interning.py", "garbage", way).strip() == "True {}"
