"""Channel atoms and what ties them."""

import numpy as np

from quickfit.compression.pruning.atoms import Atoms


def test_tied_atoms_have_one_root_also_through_others():
    atoms = Atoms()
    a, b, c = atoms.new(3), atoms.new(3), atoms.new(3)
    atoms.tie(a, b)
    atoms.tie(c, b)
    np.testing.assert_array_equal(atoms.roots(a), atoms.roots(c))
    assert len(set(atoms.roots(a).tolist())) == 3


def test_what_is_tied_to_a_frozen_atom_is_frozen_for_the_same_reason():
    atoms = Atoms()
    a, b, c = atoms.new(2), atoms.new(2, "it is an output"), atoms.new(2)
    atoms.tie(a, b)
    atoms.tie(c, a)
    assert [atoms.reason(root) for root in atoms.roots(c).tolist()] == ["it is an output"] * 2


def test_the_first_reason_stays():
    atoms = Atoms()
    a, b = atoms.new(1, "first"), atoms.new(1, "second")
    atoms.tie(a, b)
    assert atoms.reason(atoms.root(int(b[0]))) == "first"
    assert not atoms.freeze(a, "third")
    assert atoms.reason(atoms.root(int(a[0]))) == "first"


def test_freezing_tells_whether_something_was_free():
    atoms = Atoms()
    a = atoms.new(2)
    assert atoms.freeze(a[:1], "why")
    assert atoms.freeze(a, "why")
    assert not atoms.freeze(a, "why")
    assert not atoms.freeze(atoms.new(0), "why")
