"""Which species does the network still find hard?"""


class SpeciesLedger:
    def __init__(self, species):
        self.species = species
        self.clear()

    def clear(self):
        self.pain = [0.0] * self.species
        self.seen = [0] * self.species

    def enter(self, species, each):
        for row, kind in enumerate(species.numpy().tolist()):
            self.pain[kind] += float(each[row])
            self.seen[kind] += 1

    def hardest(self):
        means = [p / max(1, n) for p, n in zip(self.pain, self.seen)]
        worst = max(range(self.species), key=means.__getitem__)
        return worst, means[worst]
