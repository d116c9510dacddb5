import os
import sqlite3

import numpy as np


class SensorStore:
    """Readings of machines, one row per (machine, cycle)."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "readings.db")
        self.db = sqlite3.connect(self.path, check_same_thread=False)

    def populate(self, machines, cycles, width, seed=0):
        rng = np.random.default_rng(seed)
        self.db.execute("CREATE TABLE readings (machine INTEGER, cycle INTEGER, payload BLOB)")
        rows = []
        for m in range(machines):
            drift = rng.random()
            block = (rng.standard_normal((cycles, width)) + drift).astype("float32")
            rows += [(m, c, block[c].tobytes()) for c in range(cycles)]
        rng.shuffle(rows)
        self.db.executemany("INSERT INTO readings VALUES (?, ?, ?)", rows)
        self.db.execute("CREATE TABLE machines (id INTEGER PRIMARY KEY, wear REAL)")
        self.db.executemany("INSERT INTO machines VALUES (?, ?)",
                            [(m, float(rng.random())) for m in range(machines)])
        self.db.commit()

    def history(self, machine):
        cur = self.db.execute(
            "SELECT payload FROM readings WHERE machine = ? ORDER BY cycle", (machine,))
        return np.stack([np.frombuffer(p, "float32") for (p,) in cur])

    def wear(self, machine):
        return self.db.execute("SELECT wear FROM machines WHERE id = ?", (machine,)).fetchone()[0]
