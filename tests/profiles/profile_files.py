"""Makes small profiles: Nsight's tables, TensorFlow's protocol buffer, a Chrome trace."""

import json
import sqlite3
from contextlib import closing

# The columns that matter of Nsight's tables, under their names and with their types.
TABLES = {
    "StringIds": "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL",
    "CUPTI_ACTIVITY_KIND_KERNEL": (
        "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,"
        " streamId INTEGER NOT NULL, correlationId INTEGER, shortName INTEGER NOT NULL"
    ),
    "CUPTI_ACTIVITY_KIND_MEMCPY": (
        "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,"
        " streamId INTEGER NOT NULL, correlationId INTEGER, bytes INTEGER NOT NULL,"
        " copyKind INTEGER NOT NULL"
    ),
    "CUPTI_ACTIVITY_KIND_MEMSET": (
        "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,"
        " correlationId INTEGER, bytes INTEGER NOT NULL"
    ),
    "CUPTI_ACTIVITY_KIND_RUNTIME": (
        "start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER,"
        " nameId INTEGER NOT NULL"
    ),
    "NVTX_EVENTS": (
        "start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT,"
        " globalTid INTEGER, textId INTEGER"
    ),
    "TARGET_INFO_GPU": "id INTEGER NOT NULL, name TEXT",
}
US = 1_000
MAIN = 7


def nsight(path, *, steps=4, idle_us=100, why="python", kernel_us=300, tables=TABLES):
    """Write the export of a program whose steps copy, compute on two kernels, and leave a gap.

    Args:
        path: of the file.
        steps: how many there are.
        idle_us: the pause of the GPU before each step but the first.
        why: what the host does meanwhile: `python`, `malloc`, `queued` (nothing: it had launched).
        kernel_us: how long the large kernel takes.
        tables: what the file has.
    """
    names = ["gemm", "ncclDevKernel_AllReduce", "cudaLaunchKernel_v7000", "cudaMalloc_v3020"]
    rows = {table: [] for table in TABLES}
    rows["StringIds"] = list(enumerate(names, 1))
    rows["TARGET_INFO_GPU"] = [(0, "NVIDIA H100")]
    at = 1_000_000 * US
    for step in range(steps):
        begin, key = at, 10 * step + 1
        at += idle_us * US if step else 0
        launched = at - 5 * US
        if why == "queued":
            launched = begin - 20 * US
        if why == "malloc" and step:
            rows["CUPTI_ACTIVITY_KIND_RUNTIME"].append((begin + US, launched - US, MAIN, None, 4))
        rows["CUPTI_ACTIVITY_KIND_RUNTIME"].append((launched, launched + 4 * US, MAIN, key, 3))
        rows["CUPTI_ACTIVITY_KIND_MEMCPY"].append((at, at + 40 * US, 0, 13, key, 4096, 1))
        at += 40 * US
        # The second kernel runs beside the first for half of its time.
        end = at + kernel_us * US
        rows["CUPTI_ACTIVITY_KIND_KERNEL"].append((at, end, 0, 7, key + 1, 1))
        rows["CUPTI_ACTIVITY_KIND_KERNEL"].append((end - 50 * US, end + 50 * US, 0, 8, key + 2, 2))
        at = end + 50 * US
        rows["CUPTI_ACTIVITY_KIND_MEMSET"].append((at, at + 2 * US, 0, key + 3, 64))
        at += 2 * US
        rows["NVTX_EVENTS"].append((begin, at, 59, f"train step {step}", MAIN, None))
        rows["NVTX_EVENTS"].append((begin, begin + idle_us * US, 59, "augment", MAIN, None))
    rows["NVTX_EVENTS"].append((at, None, 34, "a mark", MAIN, None))
    with closing(sqlite3.connect(path)) as db:
        for table, columns in tables.items():
            db.execute(f"CREATE TABLE {table} ({columns})")
            marks = ",".join("?" * (columns.count(",") + 1))
            db.executemany(f"INSERT INTO {table} VALUES ({marks})", rows[table])
        db.commit()
    return path


def _varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def _field(number, value):
    """Return a field of a protocol buffer: a whole number, text or a message."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def xplane(planes):
    """Return an XSpace: lines by plane, events (begin and length in ns, name) by line."""
    space = b""
    for name, lines in planes.items():
        numbers = {}
        plane = _field(2, name)
        for line, events in lines.items():
            data = _field(2, line) + _field(3, 1_000)
            for begin, length, event in events:
                number = numbers.setdefault(event, len(numbers) + 1)
                facts = _field(1, number) + _field(2, begin * 1000) + _field(3, length * 1000)
                data += _field(4, facts)
            plane += _field(3, data)
        for event, number in numbers.items():
            entry = _field(1, number) + _field(2, _field(1, number) + _field(2, event))
            plane += _field(4, entry)
        space += _field(1, plane)
    return space


GPU_PLANES = {
    "/device:GPU:0": {
        "Stream #13(Compute)": [(0, 300, "gemm"), (400, 300, "gemm"), (700, 50, "MemcpyH2D")],
        "Steps": [(0, 350, "1"), (400, 350, "2")],
        "TensorFlow Ops": [(0, 300, "MatMul"), (400, 300, "MatMul")],
    },
    "/host:CPU": {"python": [(0, 900, "train")]},
}
CPU_PLANES = {
    "/host:CPU": {
        "tf_Compute/1": [
            (0, 500, "ExecutorState::Process"),
            (10, 200, "model/c1/Conv2D:Conv2D"),
            (300, 100, "model/d1/MatMul:MatMul"),
        ],
        "tf_Compute/2": [(150, 100, "model/c1/Relu:Relu")],
    }
}


def chrome(**changed):
    """Return a trace as PyTorch writes it."""
    event = {"ph": "X", "cat": "kernel", "pid": 0, "tid": 7, "name": "gemm", "ts": 10.5, "dur": 300}
    second = {**event, "ts": 400, "dur": 100, "args": {"device": 0, "stream": 7}, **changed}
    names = {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}}
    host = {"ph": "X", "cat": "cpu_op", "pid": 1, "tid": 1, "name": "aten::mm", "ts": 1, "dur": 2}
    return json.dumps({"traceEvents": [names, event, second, host, {"ph": "i"}, None]}).encode()
