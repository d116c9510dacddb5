"""The tables of a recording and the number of its format.

A run is a folder `NAME.qfrun`. Every process of the run writes one SQLite file in it, named
after its process id. `docs/recording-format.md` describes each column.

Times are seconds of the monotonic clock, which all processes of one machine share; `meta`
holds the wall-clock time that belongs to one of them.
"""

# "QFit" in ASCII: tells a quickfit file from any other SQLite file.
APPLICATION_ID = 0x51466974
FORMAT_VERSION = 1
RUN_SUFFIX = ".qfrun"
PROCESS_SUFFIX = ".sqlite"
RUN_FILE = "run.json"

TABLES: dict[str, str] = {
    # Facts about the process: argv, versions, clocks. One row per fact, the value as JSON.
    "meta": "key TEXT PRIMARY KEY, value TEXT NOT NULL",
    # One row per training loop, such as one call of `fit`.
    "loops": (
        "id INTEGER PRIMARY KEY, kind TEXT, file TEXT, line INTEGER, entered_s REAL,"
        " begin_s REAL, end_s REAL, thread TEXT, facts TEXT"
    ),
    "epochs": "loop INTEGER, epoch INTEGER, begin_s REAL, end_s REAL, validation_s REAL",
    # One row per call of the train function (one step, or steps_per_execution of them).
    "steps": (
        "loop INTEGER, epoch INTEGER, step INTEGER, begin_s REAL, call_s REAL, logs_s REAL,"
        " callbacks_s REAL, callbacks_cpu_s REAL, end_s REAL, cpu_s REAL"
    ),
    # Old steps, thinned: sums, and a histogram of the step time that merges exactly.
    "step_blocks": (
        "loop INTEGER, first_step INTEGER, steps INTEGER, begin_s REAL, end_s REAL, sums TEXT,"
        " histogram TEXT"
    ),
    # Running totals per callback and hook; the last row of each is the total.
    "callbacks": (
        "loop INTEGER, name TEXT, file TEXT, line INTEGER, hook TEXT, calls INTEGER, wall_s REAL"
    ),
    # One row per dataset operation that was built.
    "datasets": (
        "id INTEGER PRIMARY KEY, kind TEXT, file TEXT, line INTEGER, inputs TEXT, facts TEXT"
    ),
    "iterators": "id INTEGER PRIMARY KEY, loop INTEGER, phase TEXT, dataset INTEGER, created_s REAL",
    # tf.data's own model of a pipeline at one moment; counters only ever grow.
    "pipelines": "iterator INTEGER, at_s REAL, gaps INTEGER, gap_s REAL, root INTEGER, nodes TEXT",
    # Running totals of a Python generator or PyDataset that feeds a loop.
    "py_inputs": (
        "id INTEGER, at_s REAL, loop INTEGER, kind TEXT, name TEXT, file TEXT, line INTEGER,"
        " workers INTEGER, batches INTEGER, wall_s REAL, cpu_s REAL, busy INTEGER"
    ),
    "traces": (
        "at_s REAL, duration_s REAL, name TEXT, file TEXT, line INTEGER, caller_file TEXT,"
        " caller_line INTEGER, ops INTEGER, signature TEXT, function INTEGER, nested INTEGER,"
        " loop INTEGER"
    ),
    "frames": "id INTEGER PRIMARY KEY, file TEXT, line INTEGER, function TEXT, is_user INTEGER",
    "stacks": "id INTEGER PRIMARY KEY, role TEXT, frames TEXT",
    # How often a stack was seen, per half second.
    "samples": "at_s REAL, stack INTEGER, loop INTEGER, seen INTEGER",
    "machine": (
        "at_s REAL, cpu_s REAL, main_cpu_s REAL, rss_bytes INTEGER, run_delay_s REAL,"
        " main_run_delay_s REAL, system_busy_s REAL, read_bytes INTEGER, major_faults INTEGER,"
        " threads INTEGER, pressure REAL"
    ),
    "overhead": "at_s REAL, part TEXT, calls INTEGER, cpu_s REAL",
    "probes": "name TEXT PRIMARY KEY, state TEXT, detail TEXT",
    "sources": "file TEXT PRIMARY KEY, sha256 TEXT, text TEXT",
    "device_requests": "device TEXT, file TEXT, line INTEGER",
    "notes": "at_s REAL, text TEXT",
}
