"""Changes inputs at random, so that they get past the first check of a reader.

Bytes are cut, doubled and flipped; in JSON, SQLite, zip, tar and Python source, values are
swapped for hostile ones while the format around them stays whole. Everything is drawn from the
`Random` that is handed in: the same seed gives the same input.
"""

import ast
import copy
import io
import json
import re
import sqlite3
import zipfile
from contextlib import closing, suppress
from random import Random

# Texts that are no good to print, to open, or to parse.
TEXTS = (
    *("", "\0", "\x1b[31m\x1b]0;x\x07", "a\nb\r\tc", "\u202eabc", "\ud800", "e" + "\u0301" * 50),
    *("../../../etc/passwd", "/etc/passwd", "~/.profile", "/dev/zero", "/dev/stdin", "/proc/self"),
    *("NaN", "-1", "1e999", "9" * 400, "[", "{}", "null", "%s%n{0}{x}", "x" * 70_000, "`code`"),
    *("<b>&amp;", "::error::x", "'; DROP TABLE meta", "\ufeff", "\ud83d\ude00", " ", ".", ".."),
)
NUMBERS = (
    *(0, -1, 1, 2, 255, 256, 2**31 - 1, -(2**31), 2**32, 2**53, 2**63 - 1, -(2**63), 2**64),
    *(10**30, 10**400, 0.0, -0.0, 0.5, -1.5, 1e-320, 1e18, 1e308, -1e308),
    *(float("nan"), float("inf"), float("-inf")),
)
BYTES = (
    *(b"", b"\0", b"\xff", b"\0" * 8, b"\xff" * 8, b"\n", b'"', b"\\", b"{", b"[", b"\x1b[2J"),
    *(
        b"\x80\x80\x80\x80\x01",
        b"\x7f\xff\xff\xff",
        b"\x00\x00\x00\x80",
        b"PK\x05\x06",
        b"\xed\xa0",
    ),
)


def hostile(rng: Random) -> object:
    """Return a JSON value that nothing expects."""
    return rng.choice(
        (
            lambda: rng.choice(TEXTS),
            lambda: rng.choice(NUMBERS),
            lambda: rng.choice((None, True, False, [], {}, [[]], {"": None}, [None], [{}])),
            lambda: [rng.choice(NUMBERS) for _ in range(rng.randrange(30))],
            lambda: {rng.choice(TEXTS): rng.choice(NUMBERS) for _ in range(3)},
            lambda: _nested(rng.choice((5, 50, 200))),
        )
    )()


def _nested(depth: int) -> object:
    value: object = 1
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    return value


# -- bytes --------------------------------------------------------------------------------------


def change_bytes(rng: Random, data: bytes, *, times: int = 3) -> bytes:
    """Cut, double, flip and insert."""
    found = bytearray(data)
    for _ in range(rng.randint(1, times)):
        at = rng.randrange(len(found) + 1)
        length = min(int(rng.expovariate(0.05)) + 1, len(found) - at)
        action = rng.randrange(6)
        if action == 0 and at < len(found):
            found[at] ^= 1 << rng.randrange(8)
        elif action == 1 and at < len(found):
            found[at] = rng.choice((0, 1, 127, 128, 255, rng.randrange(256)))
        elif action == 2:
            del found[at : at + length]
        elif action == 3:
            found[at:at] = rng.choice(BYTES)
        elif action == 4:
            found[at:at] = found[at : at + length] * rng.choice((1, 2, 20))
        else:
            new = rng.choice(BYTES)
            found[at : at + len(new)] = new
    if rng.random() < 0.05:
        del found[rng.randrange(len(found) + 1) :]
    return bytes(found)


# -- JSON ---------------------------------------------------------------------------------------


def change_json(rng: Random, value: object, *, times: int = 3) -> object:
    """Return a copy with some of its values, keys and items changed."""
    box = [copy.deepcopy(value)]
    for _ in range(rng.randint(1, times)):
        places = list(_places(box, rng))
        holder, key = places[rng.randrange(len(places))]
        action = rng.randrange(8)
        if action < 4:
            holder[key] = hostile(rng)
        elif action == 4 and holder is not box:
            del holder[key]
        elif action == 5 and isinstance(holder, list):
            holder.insert(key, copy.deepcopy(holder[key]))
        elif action == 5:
            holder[rng.choice(TEXTS)] = holder.pop(key)
        elif action == 6:
            other, name = places[rng.randrange(len(places))]
            with suppress(LookupError, RecursionError):
                holder[key] = copy.deepcopy(other[name])
        else:
            holder[key] = _near(rng, holder[key])
    return box[0]


def _places(box: list, rng: Random):
    """Yield where values are: the list or dict, and the index or key. At most a few thousand."""
    left = [box]
    for _ in range(3000):
        if not left:
            return
        holder = left.pop(rng.randrange(len(left)) if len(left) < 50 else -1)
        keys = range(len(holder)) if isinstance(holder, list) else list(holder)
        for key in keys:
            yield holder, key
            if isinstance(holder[key], (list, dict)):
                left.append(holder[key])


def _near(rng: Random, value: object) -> object:
    """Return a value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return rng.choice((value + 1, value - 1, -value, value * 1000, rng.choice(NUMBERS)))
    if isinstance(value, str):
        at = rng.randrange(len(value) + 1)
        return value[:at] + rng.choice(TEXTS) + value[at + rng.randrange(3) :]
    if isinstance(value, list):
        return value * 2
    return {**value, rng.choice(TEXTS): hostile(rng)} if isinstance(value, dict) else 0


def dump_json(rng: Random, value: object) -> bytes:
    """Return JSON as bytes; at times such as no writer would write."""
    text = json.dumps(value, ensure_ascii=rng.random() < 0.7, indent=rng.choice((None, 1)))
    odd = rng.random()
    if odd < 0.02:
        text = text.replace("null", "[" * 100_000, 1)
    elif odd < 0.04:
        text = re.sub(r"\d+", "9" * 5000, text, count=1)
    elif odd < 0.06:
        text = text.replace("{", '{"a":1,"a":', 1)
    data = text.encode("utf-8", "surrogatepass")
    return change_bytes(rng, data) if rng.random() < 0.05 else data


# -- SQLite -------------------------------------------------------------------------------------

_SCHEMAS = (
    "CREATE VIEW v{n} AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c)"
    " SELECT x FROM c",
    "CREATE TRIGGER t{n} AFTER INSERT ON {table} BEGIN DELETE FROM meta; END",
    "CREATE TABLE w{n} (a TEXT PRIMARY KEY) WITHOUT ROWID",
    "CREATE TABLE g{n} (a TEXT, b TEXT AS (hex(zeroblob(100000))) VIRTUAL)",
    "CREATE INDEX i{n} ON {table} (rowid + 1)",
    "DROP TABLE {table}",
    "ALTER TABLE {table} RENAME TO x{n}",
    "ALTER TABLE {table} ADD COLUMN c{n} TEXT DEFAULT (1)",
    "ALTER TABLE {table} ADD COLUMN d{n} TEXT DEFAULT 'x'",
    "PRAGMA user_version = {n}",
    "PRAGMA application_id = {n}",
)


def change_sqlite(rng: Random, data: bytes) -> bytes:
    """Change cells, rows and the schema through SQLite itself; at times bytes of the file."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.deserialize(data)
        names = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        for _ in range(rng.randint(1, 4)):
            table = rng.choice(names)
            try:
                _change_table(rng, db, table)
            except (sqlite3.Error, OverflowError, UnicodeEncodeError):
                continue
        db.commit()
        data = db.serialize()
    return change_bytes(rng, data) if rng.random() < 0.15 else data


def _change_table(rng: Random, db: sqlite3.Connection, table: str) -> None:
    action = rng.random()
    count = db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    if action < 0.05:
        db.execute(rng.choice(_SCHEMAS).format(table=table, n=rng.randrange(10)))
        return
    columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
    if action < 0.08:
        db.execute(f"DELETE FROM {table}")
    elif action < 0.12 or not count:
        marks = ", ".join("?" * len(columns))
        db.execute(f"INSERT INTO {table} VALUES ({marks})", [_cell(rng, None) for _ in columns])
    elif action < 0.2:
        db.execute(f"DELETE FROM {table} WHERE rowid % ? = 0", (rng.randint(1, 4),))
    elif action < 0.25:
        names = ", ".join(columns)
        db.execute(f"INSERT INTO {table} ({names}) SELECT {names} FROM {table} LIMIT 50")
    else:
        column, at = rng.choice(columns), rng.randrange(count)
        where = f"rowid = (SELECT rowid FROM {table} LIMIT 1 OFFSET {at})"
        now = db.execute(f"SELECT {column} FROM {table} WHERE {where}").fetchone()[0]
        scope = "1" if rng.random() < 0.1 else where
        db.execute(f"UPDATE {table} SET {column} = ? WHERE {scope}", (_cell(rng, now),))


def _cell(rng: Random, now: object) -> object:
    if isinstance(now, str) and now[:1] in "[{" and rng.random() < 0.8:
        with suppress(ValueError, RecursionError):
            return dump_json(rng, change_json(rng, json.loads(now))).decode("utf-8", "replace")
    if now is not None and rng.random() < 0.4:
        value = _near(rng, now)
    else:
        value = rng.choice((*NUMBERS, *TEXTS, None, b"\xff\0", b""))
    return value[:5000] if isinstance(value, str) else value


# -- archives -----------------------------------------------------------------------------------


def change_zip(rng: Random, data: bytes, change: object) -> bytes:
    """Change one member with `change(rng, data)`, or the bytes of the archive."""
    if rng.random() < 0.3:
        return change_bytes(rng, data)
    found = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(found, "w") as new:
        chosen = rng.choice(old.namelist())
        for name in old.namelist():
            content = old.read(name)
            if name == chosen:
                content = change(rng, content)
            method = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
            new.writestr(zipfile.ZipInfo(name), content, method)
    return found.getvalue()


# -- Python source ------------------------------------------------------------------------------

_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
_PIECES = (
    *("(" * 60, "[" * 300, "-" * 3000, "lambda: " * 80, "9" * 5000, "1_0", "0x", "1e999", "\0"),
    *(
        "\f",
        "\t",
        "\r",
        "\\\n",
        "\ufeff",
        "\u202e",
        "é",
        "\U0001d4ef\U0001d4f2",
        "\x1b[31m",
        "'''",
        '"',
        "f'{",
        "#",
    ),
    *("# quickfit: ignore[", "# quickfit: ignore", "# -*- coding: utf-7 -*-", "*", "**", ":=", "@"),
    *("async ", "await ", "yield ", "match x:\n case", "del ", "global x", "nonlocal x", "import "),
    *(
        "from . import *",
        "from .... import x",
        "...",
        "None",
        "**{}",
        "*[]",
        "type X = int",
        "%%time",
    ),
)


def change_source(rng: Random, text: str, others: list[str]) -> str:
    """Splice tokens, lines and whole expressions, also of other scripts."""
    if rng.random() < 0.5:
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            return _swap_nodes(rng, text, rng.choice(others))
    if rng.random() < 0.3:
        lines, foreign = text.split("\n"), rng.choice(others).split("\n")
        for _ in range(rng.randint(1, 3)):
            at, begin = rng.randrange(len(lines) + 1), rng.randrange(len(foreign))
            lines[at : at + rng.randrange(4)] = foreign[begin : begin + rng.randrange(6)]
        return "\n".join(lines)
    tokens, foreign = _TOKEN.findall(text), _TOKEN.findall(rng.choice(others))
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(tokens) + 1)
        new = [rng.choice(_PIECES)] if rng.random() < 0.4 else []
        if not new and foreign:
            begin = rng.randrange(len(foreign))
            new = foreign[begin : begin + rng.randrange(4)]
        tokens[at : at + rng.randrange(3)] = new
    return "".join(tokens)


def _swap_nodes(rng: Random, text: str, other: str) -> str:
    """Put expressions and statements of a script into another; the result is mostly valid."""
    tree, donor = ast.parse(text), ast.parse(other)
    for kind in (ast.expr, ast.stmt):
        pool = [node for node in ast.walk(donor) if isinstance(node, kind)]
        slots = [
            (values, at)
            for node in ast.walk(tree)
            for values in vars(node).values()
            if isinstance(values, list)
            for at, one in enumerate(values)
            if isinstance(one, kind)
        ]
        for _ in range(rng.randint(0, 3) if pool and slots else 0):
            values, at = rng.choice(slots)
            if at < len(values):
                values[at] = copy.deepcopy(rng.choice(pool))
    return ast.unparse(ast.fix_missing_locations(tree))
