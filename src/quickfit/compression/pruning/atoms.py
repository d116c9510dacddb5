"""Channel atoms: every channel of every tensor is a number, and what is tied has one root."""

import numpy as np
import numpy.typing as npt

Places = npt.NDArray[np.int64]


class Atoms:
    """A union-find over channels; some of them must stay, each with the reason why."""

    def __init__(self) -> None:
        self._parents: list[int] = []
        self._reasons: dict[int, str] = {}  # by root

    def new(self, count: int, reason: str = "") -> Places:
        """Return new atoms; with a reason they must stay."""
        start = len(self._parents)
        atoms = np.arange(start, start + count)
        self._parents.extend(range(start, start + count))
        if reason:
            self.freeze(atoms, reason)
        return atoms

    def root(self, atom: int) -> int:
        """Return the atom that stands for all those tied to this one."""
        parents = self._parents
        while parents[atom] != atom:
            parents[atom] = parents[parents[atom]]
            atom = parents[atom]
        return atom

    def roots(self, atoms: Places) -> Places:
        """Return the root of each atom."""
        return np.array([self.root(int(atom)) for atom in atoms], dtype=np.int64)

    def tie(self, some: Places, others: Places) -> None:
        """Make atoms stay or go together, one by one."""
        for one, other in zip(some, others, strict=True):
            root, joined = self.root(int(one)), self.root(int(other))
            if root == joined:
                continue
            self._parents[joined] = root
            reason = self._reasons.pop(joined, "")
            if reason:
                self._reasons.setdefault(root, reason)

    def freeze(self, atoms: Places, reason: str) -> bool:
        """Make atoms stay; tell whether one of them was free before."""
        free = [root for root in set(self.roots(atoms).tolist()) if root not in self._reasons]
        self._reasons.update(dict.fromkeys(free, reason))
        return bool(free)

    def reason(self, root: int) -> str:
        """Return why a root must stay; an empty text where it may go."""
        return self._reasons.get(root, "")
