import random

import numpy as np

PIECES = "PNBRQKpnbrqk"


def random_fen(rnd):
    rows = []
    for _ in range(8):
        row, left = "", 8
        while left:
            if rnd.random() < 0.55:
                row, left = row + rnd.choice(PIECES), left - 1
            else:
                k = rnd.randint(1, min(left, 3))
                row, left = row + str(k), left - k
        rows.append(row)
    return "/".join(rows)


def planes(fen):
    board = np.zeros((8, 8, 12), dtype="float32")
    for r, row in enumerate(fen.split("/")):
        c = 0
        for ch in row:
            if ch.isdigit():
                c += int(ch)
            else:
                board[r, c, PIECES.index(ch)] = 1.0
                for dr, dc in ((-1, 0), (1, 0), (0, -1), (0, 1)):
                    if 0 <= r + dr < 8 and 0 <= c + dc < 8:
                        board[r + dr, c + dc, PIECES.index(ch)] += 0.25
                c += 1
    return board


class PositionFeed:
    def __init__(self, n, batch):
        rnd = random.Random(2024)
        self.fens = [random_fen(rnd) for _ in range(n)]
        self.value = np.array([rnd.uniform(-1, 1) for _ in range(n)], dtype="float32")[:, None]
        self.batch = batch

    def __len__(self):
        return len(self.fens) // self.batch

    def forever(self):
        while True:
            for k in range(len(self)):
                sl = slice(k * self.batch, (k + 1) * self.batch)
                x = np.stack([planes(f) for f in self.fens[sl]])
                yield x, self.value[sl]
