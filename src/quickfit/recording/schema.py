"""The tables of a recording and the number of its format.

A run is a folder `NAME.qfrun`. Every process of the run writes one SQLite file in it, named
after its process id. `docs/recording-format.md` describes each column.

A column may be missing a value only where its type ends in `?`. What the columns of JSON may
hold is in `shapes.py`. A recording says itself which tables and columns it has (the fact
`tables`): older ones stay readable when some are added, as long as a new column may miss.

Times are seconds of the monotonic clock, which all processes of one machine share; `meta`
holds the wall-clock time that belongs to one of them.
"""

import re
from dataclasses import dataclass

# "QFit" in ASCII: tells a quickfit file from any other SQLite file.
APPLICATION_ID = 0x51466974
FORMAT_VERSION = 1
RUN_SUFFIX = ".qfrun"
PROCESS_SUFFIX = ".sqlite"
RUN_FILE = "run.json"

TABLES: dict[str, str] = {
    # Facts about the process: argv, versions, clocks. One row per fact, the value as JSON.
    "meta": "key TEXT KEY, value TEXT",
    # One row per loop: a call of `fit`, or a loop that the script wrote itself.
    "loops": (
        "id INTEGER KEY, kind TEXT, file TEXT?, line INTEGER?, entered_s REAL, begin_s REAL, "
        "first_step_s REAL?, end_s REAL?, thread TEXT?, facts TEXT"
    ),
    "epochs": ("loop INTEGER, epoch INTEGER, begin_s REAL, end_s REAL, validation_s REAL?"),
    # One row per call of the train function (one step, or steps_per_execution of them).
    "steps": (
        "loop INTEGER, epoch INTEGER, step INTEGER, begin_s REAL, call_s REAL?, logs_s REAL?, "
        "callbacks_s REAL?, callbacks_cpu_s REAL?, end_s REAL, cpu_s REAL?, wait_s REAL?"
    ),
    # Old steps, thinned: sums, and a histogram of the step time that merges exactly.
    "step_blocks": (
        "loop INTEGER, first_step INTEGER, steps INTEGER, begin_s REAL, end_s REAL, sums "
        "TEXT, histogram TEXT"
    ),
    # Totals per callback (by its position in the list) and hook.
    "callbacks": (
        "loop INTEGER KEY, position INTEGER KEY, hook TEXT KEY, name TEXT, file TEXT?, line "
        "INTEGER?, calls INTEGER, wall_s REAL, cpu_s REAL?, is_user INTEGER?"
    ),
    # Totals of the calls into TensorFlow and Keras that a line of the script makes, by what is
    # called: the next batch, a compiled function, `train_on_batch`, `predict`, a save. Loop 0 is
    # outside any loop.
    "calls": (
        "loop INTEGER KEY, kind TEXT KEY, file TEXT KEY, line INTEGER KEY, name TEXT, calls "
        "INTEGER, wall_s REAL, cpu_s REAL?, longest_s REAL"
    ),
    # One row per dataset operation that was built.
    "datasets": ("id INTEGER KEY, kind TEXT, file TEXT?, line INTEGER?, inputs TEXT, facts TEXT"),
    "iterators": ("id INTEGER KEY, loop INTEGER, phase TEXT, dataset INTEGER, created_s REAL"),
    # tf.data's own model of a pipeline at one moment; counters only ever grow.
    "pipelines": (
        "iterator INTEGER, at_s REAL, gaps INTEGER, gap_s REAL, root INTEGER, nodes TEXT"
    ),
    # Running totals of a Python generator or PyDataset that feeds a loop.
    "py_inputs": (
        "id INTEGER, at_s REAL, loop INTEGER?, kind TEXT, name TEXT, file TEXT?, line "
        "INTEGER?, workers INTEGER, batches INTEGER, wall_s REAL, cpu_s REAL, busy INTEGER, "
        "made_file TEXT?, made_line INTEGER?"
    ),
    # Totals of a Python function that the compiled step calls (`tf.numpy_function`), by the line
    # that put it into the graph of a traced function.
    "py_functions": (
        "id INTEGER KEY, loop INTEGER KEY, name TEXT, graph TEXT, file TEXT?, line INTEGER?, "
        "call_file TEXT?, call_line INTEGER?, calls INTEGER, wall_s REAL, cpu_s REAL, "
        "longest_s REAL"
    ),
    "traces": (
        "at_s REAL, duration_s REAL, name TEXT, file TEXT?, line INTEGER?, caller_file TEXT?, "
        "caller_line INTEGER?, ops INTEGER?, signature TEXT?, function INTEGER, nested "
        "INTEGER, loop INTEGER?, arguments TEXT?"
    ),
    # One short look at a loop that runs eagerly: how many operations, and how long they took.
    # `heavy_s` is what operations took beyond the time that three quarters of them stay below.
    "eager_ops": (
        "loop INTEGER, at_s REAL, window_s REAL, steps INTEGER, ops INTEGER, ops_s REAL, "
        "median_s REAL, heavy_s REAL"
    ),
    # One short look at the arrays and numbers that become tensors: copies from Python's memory.
    # `outside_s` of it lies between the calls of a loop; the line is the one that copies longest.
    "copies": (
        "loop INTEGER, at_s REAL, window_s REAL, steps INTEGER, copies INTEGER, copies_s REAL, "
        "outside_s REAL?, bytes INTEGER?, file TEXT?, line INTEGER?, line_s REAL?"
    ),
    "frames": ("id INTEGER KEY, file TEXT, line INTEGER, function TEXT, is_user INTEGER"),
    "stacks": "id INTEGER KEY, role TEXT, frames TEXT",
    # How often a stack was seen, per half second.
    "samples": "at_s REAL, stack INTEGER, loop INTEGER?, seen INTEGER",
    # Only while nothing moves: the stack that each thread of the script is at, when it changes.
    "threads": "at_s REAL, native_id INTEGER?, name TEXT, role TEXT, stack INTEGER",
    # One short look at a thread while nothing moves: the exceptions that it raised and caught.
    "raises": (
        "at_s REAL, window_s REAL, role TEXT, name TEXT, message TEXT, file TEXT?, line INTEGER?, "
        "caught_file TEXT?, caught_line INTEGER?, count INTEGER"
    ),
    # Only while nothing moves: a trace that is under way.
    "tracing": (
        "at_s REAL, name TEXT, file TEXT?, line INTEGER?, since_s REAL, operations INTEGER"
    ),
    "machine": (
        "at_s REAL, cpu_s REAL, main_cpu_s REAL?, rss_bytes INTEGER?, run_delay_s REAL?, "
        "main_run_delay_s REAL?, system_busy_s REAL?, read_bytes INTEGER?, major_faults "
        "INTEGER?, threads INTEGER?, pressure REAL?, minor_faults INTEGER?, chars_read "
        "INTEGER?, disk_wait_s REAL?, swap_bytes INTEGER?, system_swapped_bytes INTEGER?, "
        "io_pressure REAL?, memory_pressure REAL?, open_files INTEGER?, throttled_s REAL?, "
        "cgroup_bytes INTEGER?, python_blocks INTEGER?, collections INTEGER?, collecting_s REAL?, "
        "file_bytes INTEGER?, data_bytes INTEGER?, clock_hz REAL?"
    ),
    # CPU and waiting for a core of the process's threads, by what they do; running totals.
    "thread_groups": ("name TEXT, at_s REAL, threads INTEGER, cpu_s REAL, run_delay_s REAL?"),
    # Where the files lie that the process had open, by folder.
    "data_folders": "folder TEXT KEY, file_system TEXT, files INTEGER, bytes INTEGER?",
    # How many objects of a kind are alive: tensors, variables, graphs, models.
    "objects": "at_s REAL, kind TEXT, alive INTEGER, bytes INTEGER?",
    # What the script's own names hold, looked at when memory has grown. `names` are those of one
    # object: file, function or class, and the name as it is written there.
    "holders": (
        "at_s REAL, names TEXT, kind TEXT, items INTEGER, bytes INTEGER, bound INTEGER?, "
        "content TEXT"
    ),
    "device_memory": "device TEXT, at_s REAL, bytes INTEGER, peak_bytes INTEGER?",
    # What NVIDIA's library says of a card. `throttle` is its mask of reasons for a lower clock,
    # `other_busy_share` what other processes computed on it.
    "gpus": (
        "gpu INTEGER, at_s REAL, busy_share REAL?, memory_bytes INTEGER?, total_bytes INTEGER?, "
        "clock_hz REAL?, top_clock_hz REAL?, throttle INTEGER?, power_w REAL?, power_limit_w "
        "REAL?, temperature_c REAL?, other_processes INTEGER?, other_bytes INTEGER?, "
        "other_busy_share REAL?, ecc_errors INTEGER?"
    ),
    # Of a profile: what each device did, by operation. `alone_s` leaves out what began earlier on
    # another stream and still ran, and adds up to the time that the device was busy.
    "device_use": "device TEXT KEY, begin_s REAL, end_s REAL, busy_s REAL",
    "device_work": (
        "device TEXT KEY, kind TEXT KEY, name TEXT KEY, count INTEGER, total_s REAL, alone_s REAL, "
        "longest_s REAL, bytes INTEGER?"
    ),
    # The time in which a device did nothing, by what the host did meanwhile.
    "device_idle": (
        "device TEXT KEY, reason TEXT KEY, detail TEXT KEY, count INTEGER, total_s REAL, "
        "longest_s REAL"
    ),
    # Ranges that the profiled program marked as steps.
    "profile_steps": "name TEXT, begin_s REAL, end_s REAL",
    # With `--memory`: what is allocated, by the user's line that asked for it.
    "allocations": "at_s REAL, file TEXT, line INTEGER, bytes INTEGER, blocks INTEGER",
    # Totals of what quickfit itself used, by part.
    "overhead": "part TEXT KEY, at_s REAL, calls INTEGER, cpu_s REAL",
    "probes": "name TEXT KEY, state TEXT?, detail TEXT?",
    # One row per private name of TensorFlow or Keras that a probe holds on to.
    "hooks": "name TEXT KEY, probe TEXT KEY, state TEXT, detail TEXT?",
    "sources": "file TEXT KEY, sha256 TEXT, text TEXT",
    "device_requests": "device TEXT, file TEXT, line INTEGER",
    # With `--turbo`: one row per place where the run was made faster, or was left alone.
    "turbo": (
        "id INTEGER KEY, kind TEXT, file TEXT?, line INTEGER?, what TEXT, state TEXT, reason "
        "TEXT?, cause TEXT?, unit TEXT, on_count INTEGER, on_s REAL?, off_count INTEGER, off_s "
        "REAL?, saved_s REAL?"
    ),
    "notes": "at_s REAL, text TEXT",
}


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    name: str
    kind: str
    may_miss: bool
    is_key: bool


def columns(table: str) -> list[Column]:
    """Return the columns of a table."""
    found = []
    for text in TABLES[table].split(","):
        name, kind, *rest = text.split()
        found.append(Column(name, kind.rstrip("?"), kind.endswith("?"), "KEY" in rest))
    return found


def description() -> dict[str, list[str]]:
    """Return the names of the tables and of their columns, as a recording states them."""
    return {table: [column.name for column in columns(table)] for table in TABLES}


# What `create_sql` writes, of this or another version: a name, plain columns, and a key. Anything
# else in a file (a generated column, a default, a check, a virtual table) was not written by us.
_COLUMN = r"[a-z_][a-z0-9_]* (?:TEXT|INTEGER|REAL)(?: NOT NULL)?"
_KEY = r"PRIMARY KEY \([a-z_][a-z0-9_]*(?:, [a-z_][a-z0-9_]*)*\)"
_CREATE_TABLE = re.compile(
    rf"CREATE TABLE ([a-z_][a-z0-9_]*) \({_COLUMN}(?:, {_COLUMN})*(?:, {_KEY})?\)"
)


def is_ordinary_table(name: str, sql: str) -> bool:
    """Tell whether a statement makes a table with ordinary columns, as a recording has them."""
    match = _CREATE_TABLE.fullmatch(sql)
    return match is not None and match[1] == name


def create_sql(table: str) -> str:
    """Return the statement that makes a table."""
    parts = [f"{c.name} {c.kind}{'' if c.may_miss else ' NOT NULL'}" for c in columns(table)]
    keys = [column.name for column in columns(table) if column.is_key]
    key = [f"PRIMARY KEY ({', '.join(keys)})"] if keys else []
    return f"CREATE TABLE {table} ({', '.join(parts + key)})"
