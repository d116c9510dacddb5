/* Reads the Python stacks of all threads without Python's lock, and without touching anything.
 *
 * A sampler written in Python sees a thread where it gives up the lock, not where it spends its
 * time. This one only reads: every load goes through the kernel (process_vm_readv on our own
 * process), so that memory which is freed or changed meanwhile gives a failed or a strange read,
 * never a crash. Strange reads are dropped. Nothing is ever written, referenced or called.
 *
 * Where things lie is learned in Python (native_stacks.py) on our own thread and given to
 * `configure`. What is read of a code object is copied: its names and its table of lines.
 */
#define PY_SSIZE_T_CLEAN
#define _GNU_SOURCE
#include <Python.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* Not in the limited API, but exported by every version. The function is a plain load. */
extern void *PyInterpreterState_ThreadHead(PyInterpreterState *);
extern PyTypeObject PyCode_Type;

enum { MAX_DEPTH = 80, MAX_THREADS = 64, MAX_CODES = 1 << 15, SLOTS = 1 << 16 };
enum { MAX_TEXT = 4096, MAX_TABLE = 1 << 18, MAX_UNITS = 1 << 20, MAX_STACKS = 4096, TRIES = 3 };
enum { OBJECT_BYTES = 256, FRAME_BYTES = 80, STATE_BYTES = 256 };

typedef struct {
    Py_ssize_t next, ident, top, top_in;             /* in a thread's state; in what `top` points at */
    Py_ssize_t code, previous, instr;                /* in a frame */
    Py_ssize_t first_line, file, name, lines, begin; /* in a code object */
    Py_ssize_t ascii, compact;                       /* where the characters of a string begin */
} Layout;

typedef struct {
    uintptr_t code, file, name, lines;
    int64_t units, first_line;
} Code;

/* Memory of ours that was read in one go: frames of one thread lie close to each other. */
typedef struct {
    uintptr_t begin;
    size_t size;
    unsigned char bytes[4096];
} Window;

typedef struct {
    uint64_t hash, tag, ident, seen, slot;
    size_t begin, depth;
} Stack;

static Layout at;
static uintptr_t code_type, text_type, bytes_type;
static PyInterpreterState *interpreter;
static pid_t self;

static Code codes[MAX_CODES];
static uint32_t slots[SLOTS]; /* a code's number plus one */
static uint32_t code_count, told_codes;
/* By code: in which round of samples it was last looked at. Once in half a second is enough. */
static uint32_t looked_in[MAX_CODES], round_number;

static Stack stacks[MAX_STACKS];
static size_t stack_count;
static uint64_t *frames;
static size_t frame_count, frame_room;

static volatile uint64_t loop_tag;

/* The thread of Python that reads counters and writes waits in `watch`, until `wake`. */
static pthread_mutex_t waiting = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake_up;
static int is_woken;

/* The samples are taken by a thread that is not Python's: one that needs Python's lock between two
 * samples has it back only after 5 ms each time while the script computes in Python, and would see
 * nothing for seconds. What it counts belongs to whoever holds `counting`.
 */
static pthread_t sampler;
static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t sampler_wake;
static int is_sampling, is_ending, wants_stacks;
static double sample_every_s;
static uint64_t own_ident;
/* Stacks are counted by how long after the last `drain` they were seen, in steps of this length. */
#define SLOT_S 0.75
static double drained_s;
static double ended_cpu_s;

/* Nothing that was copied is trusted: it may be anything by now, or be half changed. */
static int copy(void *to, uintptr_t from, size_t size) {
    struct iovec local = {to, size}, remote = {(void *)from, size};
    int is_copied = process_vm_readv(self, &local, 1, &remote, 1, 0) == (ssize_t)size;
#ifdef SPOIL_ONE_IN
    /* For the test that everything is survived. */
    if (is_copied && size >= 8 && rand() % SPOIL_ONE_IN == 0) {
        uint64_t spoilt = rand() % 2 ? (uint64_t)rand() << (rand() % 64) : (uint64_t)-(rand() % 200);
        memcpy((char *)to + 8 * ((size_t)rand() % (size / 8)), &spoilt, sizeof spoilt);
    }
#endif
    return is_copied;
}

static uintptr_t word(const unsigned char *object, Py_ssize_t offset) {
    uintptr_t value;
    memcpy(&value, object + offset, sizeof value);
    return value;
}

static uintptr_t top_frame(const unsigned char *state) {
    uintptr_t top = word(state, at.top);
    if (at.top_in >= 0 && !copy(&top, top + at.top_in, sizeof top))
        return 0;
    return top;
}

/* Return the bytes of a frame, or NULL where nothing can be read. Older frames lie below. */
static const unsigned char *frame_at(uintptr_t frame, Window *window) {
    if (window->size < FRAME_BYTES || frame < window->begin ||
        frame - window->begin > window->size - FRAME_BYTES) {
        window->size = sizeof window->bytes;
        window->begin = frame + FRAME_BYTES - window->size;
        if (!copy(window->bytes, window->begin, window->size)) {
            window->size = FRAME_BYTES; /* below it nothing is mapped */
            window->begin = frame;
            if (!copy(window->bytes, window->begin, window->size)) {
                window->size = 0;
                return NULL;
            }
        }
    }
    return window->bytes + (frame - window->begin);
}

/* Return the number of a code object, or -1 if there is none at that address. */
static int64_t code_number(uintptr_t address) {
    unsigned char object[OBJECT_BYTES];
    Code code = {.code = address};
    int32_t first_line;
    uint32_t first_slot = (uint32_t)((address >> 4) * 2654435761u) % SLOTS, slot = first_slot;
    for (; slots[slot]; slot = (slot + 1) % SLOTS) {
        uint32_t number = slots[slot] - 1;
        if (codes[number].code == address && looked_in[number] == round_number)
            return number;
    }
    if (!copy(object, address, (size_t)at.lines + 8) || word(object, 8) != code_type)
        return -1;
    code.units = (int64_t)word(object, 16);
    if (code.units < 0 || code.units > MAX_UNITS)
        return -1;
    memcpy(&first_line, object + at.first_line, sizeof first_line);
    code.first_line = first_line;
    code.file = word(object, at.file);
    code.name = word(object, at.name);
    code.lines = word(object, at.lines);
    for (slot = first_slot; slots[slot]; slot = (slot + 1) % SLOTS)
        if (memcmp(&codes[slots[slot] - 1], &code, sizeof code) == 0) {
            looked_in[slots[slot] - 1] = round_number;
            return slots[slot] - 1;
        }
    if (code_count == MAX_CODES)
        return -1;
    codes[code_count] = code;
    looked_in[code_count] = round_number;
    slots[slot] = ++code_count;
    return code_count - 1;
}

/* Write a thread's frames, innermost first; return how many, 0 where they could not be read. */
static size_t walk(unsigned char *state, uintptr_t address, uint64_t *out) {
    for (int tried = 0; tried < TRIES; tried++) {
        uintptr_t top = top_frame(state), frame = top;
        size_t depth = 0;
        int is_good = 1;
        Window window;
        window.begin = window.size = 0;
        /* A chain of spoilt frames may be a ring. */
        for (int hops = 0; frame && depth < MAX_DEPTH && hops < 2 * MAX_DEPTH; hops++) {
            const unsigned char *object = frame_at(frame, &window);
            if (!object) {
                is_good = 0;
                break;
            }
            int64_t number = code_number(word(object, at.code));
            if (number >= 0) {
                uintptr_t begin = word(object, at.code) + (uintptr_t)at.begin;
                int64_t instr = (int64_t)(word(object, at.instr) - begin);
                if (instr < -4 || instr > 2 * codes[number].units)
                    is_good = 0;
                else
                    out[depth++] = (uint64_t)number << 32 | (uint32_t)(instr < 0 ? 0 : instr);
            }
            frame = word(object, at.previous);
        }
        unsigned char again[STATE_BYTES];
        if (!copy(again, address, (size_t)at.top + 8))
            return 0;
        if (is_good && top_frame(again) == top)
            return depth;
        if (tried == TRIES - 1)
            return is_good ? depth : 0;
        memcpy(state, again, (size_t)at.top + 8);
    }
    return 0;
}

static void count(uint64_t slot, uint64_t tag, uint64_t ident, const uint64_t *found, size_t depth) {
    uint64_t hash = 1469598103934665603u ^ tag ^ ident * 31 ^ slot << 48;
    for (size_t i = 0; i < depth; i++)
        hash = (hash ^ found[i]) * 1099511628211u;
    for (size_t i = stack_count; i-- > 0;)
        if (stacks[i].hash == hash && stacks[i].depth == depth) {
            stacks[i].seen++;
            return;
        }
    if (stack_count == MAX_STACKS)
        return;
    if (frame_count + depth > frame_room) {
        size_t room = 2 * frame_room + 16 * MAX_DEPTH;
        uint64_t *larger = realloc(frames, room * sizeof *frames);
        if (!larger)
            return;
        frames = larger;
        frame_room = room;
    }
    memcpy(frames + frame_count, found, depth * sizeof *found);
    stacks[stack_count++] = (Stack){hash, tag, ident, 1, slot, frame_count, depth};
    frame_count += depth;
}

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void sample(uint64_t own) {
    double since_s = seconds_now() - drained_s;
    uint64_t slot = since_s > 0 ? (uint64_t)(since_s / SLOT_S) : 0;
    uintptr_t address = (uintptr_t)PyInterpreterState_ThreadHead(interpreter);
    for (int seen = 0; address && seen < MAX_THREADS; seen++) {
        unsigned char state[STATE_BYTES];
        uint64_t found[MAX_DEPTH];
        size_t size = (size_t)(at.ident > at.top ? at.ident : at.top) + 8;
        if (!copy(state, address, size))
            return;
        uint64_t ident = word(state, at.ident);
        uintptr_t next = word(state, at.next);
        if (ident != own) {
            uint64_t tag = loop_tag;
            size_t depth = walk(state, address, found);
            if (depth)
                count(slot, tag, ident, found, depth);
        }
        address = next;
    }
}

static void add_seconds(struct timespec *when, double seconds) {
    int64_t nanos = when->tv_nsec + (int64_t)(seconds * 1e9);
    when->tv_sec += nanos / 1000000000;
    when->tv_nsec = nanos % 1000000000;
}

static int is_before(const struct timespec *one, const struct timespec *two) {
    return one->tv_sec != two->tv_sec ? one->tv_sec < two->tv_sec : one->tv_nsec < two->tv_nsec;
}

static void *sample_until_ended(void *unused) {
    struct timespec now, next;
    prctl(PR_SET_NAME, "quickfit"); /* threads.py knows it by that */
    pthread_mutex_lock(&counting);
    clock_gettime(CLOCK_MONOTONIC, &next);
    while (!is_ending) {
        add_seconds(&next, sample_every_s);
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (is_before(&next, &now)) /* we had no core for a while */
            next = now;
        while (!is_ending && is_before(&now, &next)) {
            pthread_cond_timedwait(&sampler_wake, &counting, &next);
            clock_gettime(CLOCK_MONOTONIC, &now);
        }
        if (wants_stacks && !is_ending)
            sample(own_ident);
    }
    pthread_mutex_unlock(&counting);
    return NULL;
}

/* Take samples at this pace from now on. */
static void set_pace(double every_s, uint64_t own, int is_wanted) {
    pthread_mutex_lock(&counting);
    sample_every_s = every_s;
    own_ident = own;
    wants_stacks = is_wanted;
    pthread_mutex_unlock(&counting);
    if (is_sampling)
        return;
    /* A signal of the script's must not strike this thread. */
    sigset_t every, before;
    pthread_attr_t small;
    is_ending = 0;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 1 << 18);
    is_sampling = pthread_create(&sampler, &small, sample_until_ended, NULL) == 0;
    pthread_attr_destroy(&small);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static double sampler_cpu_s(void) {
    clockid_t clock;
    struct timespec used;
    if (!is_sampling || pthread_getcpuclockid(sampler, &clock) || clock_gettime(clock, &used))
        return 0;
    return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

/* Return the CPU time of the samples so far. */
static PyObject *cost_s(PyObject *module, PyObject *unused) {
    return PyFloat_FromDouble(ended_cpu_s + sampler_cpu_s());
}

/* End the sampling; what was counted can still be had. */
static PyObject *finish(PyObject *module, PyObject *unused) {
    if (is_sampling) {
        Py_BEGIN_ALLOW_THREADS
        ended_cpu_s += sampler_cpu_s();
        pthread_mutex_lock(&counting);
        is_ending = 1;
        pthread_cond_signal(&sampler_wake);
        pthread_mutex_unlock(&counting);
        pthread_join(sampler, NULL);
        is_sampling = 0;
        Py_END_ALLOW_THREADS
    }
    Py_RETURN_NONE;
}

/* Let samples be taken at a pace, from now on, and wait for so long or until woken, without Python's
 * lock. Return whether it was woken. */
static PyObject *watch(PyObject *module, PyObject *args) {
    double seconds, every_s;
    unsigned long long own;
    int woken, is_wanted;
    if (!PyArg_ParseTuple(args, "ddKp", &seconds, &every_s, &own, &is_wanted))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    struct timespec now, end;
    self = getpid();
    set_pace(every_s, own, is_wanted);
    clock_gettime(CLOCK_MONOTONIC, &now);
    end = now;
    add_seconds(&end, seconds);
    pthread_mutex_lock(&waiting);
    while (!is_woken && is_before(&now, &end)) {
        pthread_cond_timedwait(&wake_up, &waiting, &end);
        clock_gettime(CLOCK_MONOTONIC, &now);
    }
    woken = is_woken;
    is_woken = 0;
    pthread_mutex_unlock(&waiting);
    Py_END_ALLOW_THREADS
    return PyBool_FromLong(woken);
}

static PyObject *wake(PyObject *module, PyObject *unused) {
    pthread_mutex_lock(&waiting);
    is_woken = 1;
    pthread_cond_signal(&wake_up);
    pthread_mutex_unlock(&waiting);
    Py_RETURN_NONE;
}

/* Remember the number of a constellation of loops; samples carry the one they were taken in. */
static PyObject *mark(PyObject *module, PyObject *number) {
    uint64_t tag = PyLong_AsUnsignedLongLong(number);
    if (PyErr_Occurred())
        return NULL;
    loop_tag = tag;
    Py_RETURN_NONE;
}

static PyObject *text_at(uintptr_t address) {
    unsigned char head[64];
    char text[4 * MAX_TEXT];
    if (!copy(head, address, sizeof head) || word(head, 8) != text_type)
        Py_RETURN_NONE;
    uint64_t length = word(head, 16);
    uint32_t state;
    memcpy(&state, head + 32, sizeof state);
    unsigned kind = state >> 2 & 7, is_ascii = state >> 6 & 1;
    if (length > MAX_TEXT || (kind != 1 && kind != 2 && kind != 4))
        Py_RETURN_NONE;
    if (!copy(text, address + (uintptr_t)(is_ascii ? at.ascii : at.compact), length * kind))
        return length ? Py_NewRef(Py_None) : PyUnicode_FromString("");
    int order = -1;
    if (kind == 1)
        return PyUnicode_DecodeLatin1(text, (Py_ssize_t)length, NULL);
    if (kind == 2)
        return PyUnicode_DecodeUTF16(text, (Py_ssize_t)(2 * length), "replace", &order);
    return PyUnicode_DecodeUTF32(text, (Py_ssize_t)(4 * length), "replace", &order);
}

static PyObject *bytes_at(uintptr_t address) {
    unsigned char head[32];
    if (!copy(head, address, sizeof head) || word(head, 8) != bytes_type)
        Py_RETURN_NONE;
    uint64_t length = word(head, 16);
    char *data = length <= MAX_TABLE ? malloc(length + 1) : NULL;
    PyObject *found = NULL;
    if (data && copy(data, address + 32, length))
        found = PyBytes_FromStringAndSize(data, (Py_ssize_t)length);
    free(data);
    if (found || PyErr_Occurred())
        return found;
    Py_RETURN_NONE;
}

/* Return the code objects that are new, and the stacks with their counts, and forget the stacks.
 *
 * With Python's lock. A code object may be gone by now, or another one be in its place: it is
 * looked at again, and what has changed since has no name.
 */
static PyObject *drain(PyObject *module, PyObject *unused) {
    PyObject *fresh = PyList_New(0), *counted = PyList_New(0);
    pthread_mutex_lock(&counting);
    if (!fresh || !counted)
        goto failed;
    self = getpid();
    round_number++;
    for (; told_codes < code_count; told_codes++) {
        Code known = codes[told_codes];
        int is_same = code_number(known.code) == (int64_t)told_codes;
        PyObject *entry = is_same ? Py_BuildValue("(NNiN)", text_at(known.file), text_at(known.name),
                                                  (int)known.first_line, bytes_at(known.lines))
                                  : Py_BuildValue("(OOiO)", Py_None, Py_None, 0, Py_None);
        if (!entry || PyList_Append(fresh, entry) < 0) {
            Py_XDECREF(entry);
            goto failed;
        }
        Py_DECREF(entry);
    }
    for (size_t i = 0; i < stack_count; i++) {
        Stack *one = &stacks[i];
        PyObject *entry = Py_BuildValue("(dKKKy#)", drained_s + SLOT_S * (double)(one->slot + 1),
                                        one->tag, one->ident, one->seen,
                                        (const char *)(frames + one->begin),
                                        (Py_ssize_t)(one->depth * sizeof *frames));
        if (!entry || PyList_Append(counted, entry) < 0) {
            Py_XDECREF(entry);
            goto failed;
        }
        Py_DECREF(entry);
    }
    stack_count = frame_count = 0;
    drained_s = seconds_now();
    pthread_mutex_unlock(&counting);
    return Py_BuildValue("(NN)", fresh, counted);
failed:
    pthread_mutex_unlock(&counting);
    Py_XDECREF(fresh);
    Py_XDECREF(counted);
    return NULL;
}

/* Read a signed number of a line table, which ends with its first byte below 64. */
static int64_t signed_number(const unsigned char *at, const unsigned char *end) {
    uint64_t value = 0;
    for (int shift = 0; at < end && shift < 48; shift += 6, at++) {
        value |= (uint64_t)(*at & 63) << shift;
        if (!(*at & 64))
            break;
    }
    return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* Return the line of an instruction (a place in bytes) by a code object's table of lines.
 *
 * Its format is that of Python 3.11 to 3.13: an entry begins with a byte above 127 that has its kind
 * and how many units of code it covers. An instruction without a line has the one before it.
 */
static PyObject *line_of(PyObject *module, PyObject *args) {
    const unsigned char *table;
    Py_ssize_t size;
    long long line, instruction;
    if (!PyArg_ParseTuple(args, "y#LL", &table, &size, &line, &instruction))
        return NULL;
    const unsigned char *at_entry = table, *end = table + size;
    long long covered = 0;
    while (at_entry < end) {
        int kind = *at_entry >> 3 & 15;
        covered += 2 * ((*at_entry & 7) + 1);
        if (kind == 13 || kind == 14)
            line += signed_number(at_entry + 1, end);
        else if (kind >= 10 && kind <= 12)
            line += kind - 10;
        if (instruction < covered)
            break;
        do
            at_entry++;
        while (at_entry < end && !(*at_entry & 128));
    }
    return PyLong_FromLongLong(line);
}

/* Look at every thread once, with Python's lock: for the check of what was learned. */
static PyObject *look(PyObject *module, PyObject *unused) {
    self = getpid();
    pthread_mutex_lock(&counting);
    sample(0);
    pthread_mutex_unlock(&counting);
    Py_RETURN_NONE;
}

/* Return where in memory of ours a value stands; -1 unless it is at one place. */
static Py_ssize_t place_of(const void *memory, Py_ssize_t size, uint64_t value, Py_ssize_t bytes) {
    Py_ssize_t found = -1;
    for (Py_ssize_t offset = 0; offset < size; offset += bytes)
        if (memcmp((const char *)memory + offset, &value, (size_t)bytes) == 0) {
            if (found >= 0)
                return -1;
            found = offset;
        }
    return found;
}

/* The same of a part of a code object. */
static Py_ssize_t place_of_part(PyObject *code, const char *name, Py_ssize_t size) {
    PyObject *part = PyObject_GetAttrString(code, name);
    if (!part)
        return -1;
    Py_ssize_t found = place_of(code, size, (uintptr_t)part, 8);
    Py_DECREF(part);
    return found;
}

/* Take the layout: what is known of the version, and a code object to learn the rest from. */
static PyObject *configure(PyObject *module, PyObject *args) {
    pthread_condattr_t clock;
    PyObject *code;
    int first_line;
    unsigned long long ident;
    if (!PyArg_ParseTuple(args, "(nnnnnn)nnnOiK", &at.next, &at.top, &at.top_in, &at.code, &at.previous,
                          &at.instr, &at.begin, &at.ascii, &at.compact, &code, &first_line, &ident))
        return NULL;
    at.ident = place_of(PyThreadState_Get(), STATE_BYTES, ident, 8);
    at.first_line = place_of(code, at.begin, (uint64_t)first_line, 4);
    at.file = place_of_part(code, "co_filename", at.begin);
    at.name = place_of_part(code, "co_name", at.begin);
    at.lines = place_of_part(code, "co_linetable", at.begin);
    if (PyErr_Occurred())
        return NULL;
    if (at.ident < 0 || at.first_line < 0 || at.file < 0 || at.name < 0 || at.lines < 0 ||
        at.lines + 8 > OBJECT_BYTES || at.first_line > at.lines || at.file > at.lines) {
        PyErr_SetString(PyExc_ValueError, "this Python keeps its frames at unknown places");
        return NULL;
    }
    code_type = (uintptr_t)&PyCode_Type;
    text_type = (uintptr_t)&PyUnicode_Type;
    bytes_type = (uintptr_t)&PyBytes_Type;
    interpreter = PyInterpreterState_Get();
    code_count = told_codes = 0;
    stack_count = frame_count = 0;
    memset(slots, 0, sizeof slots);
    /* A child of a fork has the mutexes as they were, and no thread that holds them. */
    pthread_mutex_init(&waiting, NULL);
    pthread_mutex_init(&counting, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&wake_up, &clock);
    pthread_cond_init(&sampler_wake, &clock);
    pthread_condattr_destroy(&clock);
    is_woken = is_sampling = 0;
    drained_s = seconds_now();
    Py_RETURN_NONE;
}

/* Descriptors. A script may close every number it does not know, as a daemon does, and open files of
 * its own under the same ones while we are at work. So a number is closed only if it still is what we
 * opened; both is looked at while no other thread can run Python code. And nothing is read in a
 * way that would take it from another reader: `pread` leaves a file where it is and refuses a pipe.
 */
enum { MAX_FILLERS = 1024 };
static int fillers[MAX_FILLERS];
static int filler_count;
static struct stat filled_with;

static int is_same_file(const struct stat *one, const struct stat *two) {
    return one->st_dev == two->st_dev && one->st_ino == two->st_ino;
}

static int close_own(int fd, const struct stat *opened) {
    struct stat now;
    int is_ours = fstat(fd, &now) == 0 && is_same_file(&now, opened);
    if (is_ours)
        close(fd);
    return is_ours;
}

/* Return what a file says, at most so many bytes; None where it cannot be read.
 *
 * What the kernel makes up takes microseconds to read. To give up Python's lock for that costs 5 ms
 * each time while the script computes in Python, and a reading asks a hundred such files.
 */
static PyObject *read_file(PyObject *module, PyObject *args) {
    const char *path;
    Py_ssize_t limit, size = 0, got = 0;
    struct stat opened;
    if (!PyArg_ParseTuple(args, "yn", &path, &limit))
        return NULL;
    char *data = malloc((size_t)limit);
    if (!data)
        return PyErr_NoMemory();
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    int is_open = fd >= 0 && fstat(fd, &opened) == 0;
    int is_kernels = strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/sys/", 5) == 0;
    PyThreadState *unlocked = is_kernels ? NULL : PyEval_SaveThread();
    while (is_open && size < limit && (got = pread(fd, data + size, (size_t)(limit - size), size)) > 0)
        size += got;
    if (unlocked)
        PyEval_RestoreThread(unlocked);
    PyObject *found = NULL;
    if (is_open && close_own(fd, &opened) && got >= 0)
        found = PyBytes_FromStringAndSize(data, size);
    free(data);
    if (found || PyErr_Occurred())
        return found;
    Py_RETURN_NONE;
}

/* Return the names in a folder of the system's; None where it cannot be read. */
static PyObject *list_folder(PyObject *module, PyObject *args) {
    const char *path;
    struct dirent *entry;
    if (!PyArg_ParseTuple(args, "y", &path))
        return NULL;
    DIR *folder = opendir(path);
    if (!folder)
        Py_RETURN_NONE;
    PyObject *names = PyList_New(0);
    while (names && (entry = readdir(folder))) {
        PyObject *name = PyUnicode_DecodeFSDefault(entry->d_name);
        if (!name || (entry->d_name[0] != '.' && PyList_Append(names, name) < 0))
            Py_CLEAR(names);
        Py_XDECREF(name);
    }
    closedir(folder);
    return names;
}

/* Take every free number below a limit, so that what is opened next gets one above it. */
static PyObject *fill_numbers(PyObject *module, PyObject *number) {
    long lowest = PyLong_AsLong(number);
    if (PyErr_Occurred())
        return NULL;
    filler_count = 0;
    int fd = (int)syscall(SYS_memfd_create, "quickfit", 1u /* MFD_CLOEXEC */);
    if (fd < 0 || fstat(fd, &filled_with) < 0)
        Py_RETURN_FALSE;
    for (int last = fd; last >= 0 && filler_count < MAX_FILLERS;) {
        fillers[filler_count++] = last;
        last = last < lowest ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
    }
    Py_RETURN_TRUE;
}

/* Give the numbers back that are still ours. */
static PyObject *free_numbers(PyObject *module, PyObject *unused) {
    while (filler_count > 0)
        close_own(fillers[--filler_count], &filled_with);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"read_file", read_file, METH_VARARGS, "Return what a file says, at most so many bytes."},
    {"list_folder", list_folder, METH_VARARGS, "Return the names in a folder of the system's."},
    {"fill_numbers", fill_numbers, METH_O, "Take the free numbers of files below a limit."},
    {"free_numbers", free_numbers, METH_NOARGS, "Give back what `fill_numbers` took."},
    {"configure", configure, METH_VARARGS, "Take the layout of Python's structures; forget all."},
    {"line_of", line_of, METH_VARARGS, "Return the line of an instruction of a code object."},
    {"look", look, METH_NOARGS, "Sample every thread once, now."},
    {"watch", watch, METH_VARARGS, "Sample from now on; wait so long or until `wake`: was it woken?"},
    {"finish", finish, METH_NOARGS, "End the sampling that `watch` began."},
    {"cost_s", cost_s, METH_NOARGS, "Return the CPU time of the samples."},
    {"wake", wake, METH_NOARGS, "End `watch` on another thread."},
    {"mark", mark, METH_O, "Give the samples from now on a number."},
    {"drain", drain, METH_NOARGS, "Return new code objects, and the stacks since the last time."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_frames", "Stacks of all threads, read without Python's lock.", -1,
    functions, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__frames(void) { return PyModule_Create(&definition); }
