/* Resizes uint8 images with antialiasing and without the GIL: Pillow's BILINEAR and BICUBIC, bit
 * for bit, so that it makes no difference whether this file could be compiled.
 *
 * A new pixel is a weighted mean of the old ones it covers, along rows and along columns in turn;
 * between the two passes values are rounded to 8 bits.
 *
 * Both passes are one operation: the weighted sum of vectors of 16 bytes that lie `stride` apart.
 * For columns that is the image as it is. For rows, 16 rows are transposed first, so that one
 * vector holds the same byte of 16 rows: cheaper than gathering neighbours within a row.
 *
 * AVX2 is used where the processor has it; SSE2 is part of every x86-64; elsewhere plain loops are
 * left to the compiler.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "_vectors.h"

/* Rows of pixels in somebody's memory. */
typedef struct {
    uint8_t *bytes;
    ptrdiff_t stride; /* from row to row */
    size_t height, width, channels;
} Image;

static size_t row_bytes(const Image *image)
{
    return image->width * image->channels;
}

/* Where the vector at `at` begins: the last one of a row overlaps the one before it, so that it
 * ends with the row. So do the last LANES rows of an image. */
static size_t vector_start(size_t at, size_t size)
{
    return at + LANES <= size ? at : size - LANES;
}

/* Transposes LANES rows from `top` on into a strip of columns, LANES bytes each. */
static void to_strip(uint8_t *strip, const Image *image, size_t top)
{
    const uint8_t *rows = image->bytes + (ptrdiff_t)top * image->stride;
    for (size_t at = 0; at < row_bytes(image); at += LANES) {
        size_t start = vector_start(at, row_bytes(image));
        transpose(strip + start * LANES, LANES, rows + start, image->stride);
    }
}

/* Writes a strip of columns as the rows from `top` on. */
static void from_strip(const Image *image, size_t top, const uint8_t *strip)
{
    uint8_t *rows = image->bytes + (ptrdiff_t)top * image->stride;
    for (size_t at = 0; at < row_bytes(image); at += LANES) {
        size_t start = vector_start(at, row_bytes(image));
        transpose(rows + start, image->stride, strip + start * LANES, LANES);
    }
}

static void blend_strip(uint8_t *new_strip, const uint8_t *old_strip, const Plan *plan,
                        const Image *out)
{
    size_t pixel_bytes = out->channels * LANES;
    Blend blend = fastest_blend();
    for (size_t x = 0; x < out->width; x++) {
        const Span *span = &plan->spans[x];
        for (size_t at = 0; at < pixel_bytes; at += LANES)
            blend(new_strip + x * pixel_bytes + at, old_strip + span->first * pixel_bytes + at,
                  (ptrdiff_t)pixel_bytes, span);
    }
}

/* Returns 0, or -1 without memory. */
static int resize_strips(const Image *source, const Image *out, const Plan *plan)
{
    uint8_t *old_strip = allocate(row_bytes(source), LANES);
    uint8_t *new_strip = allocate(row_bytes(out), LANES);
    int failed = !old_strip || !new_strip;
    for (size_t at = 0; !failed && at < source->height; at += LANES) {
        size_t top = vector_start(at, source->height);
        to_strip(old_strip, source, top);
        blend_strip(new_strip, old_strip, plan, out);
        from_strip(out, top, new_strip);
    }
    free(old_strip);
    free(new_strip);
    return failed ? -1 : 0;
}

/* For images too small for a strip, and for very wide ones a few rows high: their strip would be
 * many times the image. */
static void resize_pixelwise(const Image *source, const Image *out, const Plan *plan)
{
    size_t channels = out->channels;
    for (size_t y = 0; y < out->height; y++) {
        const uint8_t *old = source->bytes + (ptrdiff_t)y * source->stride;
        uint8_t *new = out->bytes + (ptrdiff_t)y * out->stride;
        for (size_t x = 0; x < out->width; x++)
            blend_short(new + x * channels, old + plan->spans[x].first * channels,
                        (ptrdiff_t)channels, &plan->spans[x], channels);
    }
}

/* Both images have the same height. Returns 0, or -1 without memory. */
static int resize_rows(const Image *source, const Image *out, const Filter *filter)
{
    Plan plan;
    int failed = plan_make(&plan, filter, source->width, out->width);
    int is_small = smaller(row_bytes(source), row_bytes(out)) < LANES || out->height < LANES;
    if (!failed && is_small)
        resize_pixelwise(source, out, &plan);
    else if (!failed)
        failed = resize_strips(source, out, &plan);
    plan_free(&plan);
    return failed;
}

static void blend_row(uint8_t *new, const uint8_t *old, ptrdiff_t stride, const Span *span,
                      size_t size)
{
    Blend blend = fastest_blend();
    if (size < LANES) {
        blend_short(new, old, stride, span, size);
        return;
    }
    for (size_t at = 0; at < size; at += LANES) {
        size_t start = vector_start(at, size);
        blend(new + start, old + start, stride, span);
    }
}

/* Both images have the same width. Returns 0, or -1 without memory. */
static int resize_columns(const Image *source, const Image *out, const Filter *filter)
{
    Plan plan;
    int failed = plan_make(&plan, filter, source->height, out->height);
    for (size_t y = 0; !failed && y < out->height; y++) {
        const Span *span = &plan.spans[y];
        blend_row(out->bytes + (ptrdiff_t)y * out->stride,
                  source->bytes + (ptrdiff_t)span->first * source->stride, source->stride, span,
                  row_bytes(out));
    }
    plan_free(&plan);
    return failed;
}

static void copy_rows(const Image *source, const Image *out)
{
    for (size_t y = 0; y < source->height; y++)
        memmove(out->bytes + (ptrdiff_t)y * out->stride,
                source->bytes + (ptrdiff_t)y * source->stride, row_bytes(source));
}

/* Pillow 13 takes the columns first where the height shrinks by more than twice as many pixels as
 * the width. Overshoots of BICUBIC are cut off between the passes, so their order shows. It also
 * keeps the image between them no larger than the larger one of the two. */
static int takes_columns_first(const Image *source, const Image *out)
{
    int64_t fewer_rows = (int64_t)source->height - (int64_t)out->height;
    int64_t fewer_columns = (int64_t)source->width - (int64_t)out->width;
    return fewer_rows > 0 && fewer_rows > 2 * fewer_columns;
}

/* Returns 0, or -1 without memory. */
static int resize_both(const Image *source, const Image *out, const Filter *filter)
{
    int is_columns_first = takes_columns_first(source, out);
    Image middle = *out;
    if (is_columns_first)
        middle.width = source->width;
    else
        middle.height = source->height;
    middle.stride = (ptrdiff_t)row_bytes(&middle);
    middle.bytes = allocate(middle.height, row_bytes(&middle));
    if (!middle.bytes)
        return -1;
    int failed = is_columns_first
        ? resize_columns(source, &middle, filter) || resize_rows(&middle, out, filter)
        : resize_rows(source, &middle, filter) || resize_columns(&middle, out, filter);
    free(middle.bytes);
    return failed ? -1 : 0;
}

static int resize_image(const Image *source, const Image *out, const Filter *filter)
{
    if (source->width == out->width && source->height == out->height) {
        copy_rows(source, out);
        return 0;
    }
    if (source->width == out->width)
        return resize_columns(source, out, filter);
    if (source->height == out->height)
        return resize_rows(source, out, filter);
    return resize_both(source, out, filter);
}

/* ---- Python ------------------------------------------------------------------------------- */

/* Sets an error and returns -1 unless the buffer is [height, width, channels] of uint8 whose rows
 * are without gaps and none of whose sizes is 0. */
static int image_of(Image *image, const Py_buffer *view, const char *name)
{
    if (view->itemsize != 1 || (view->format && strcmp(view->format, "B") != 0)) {
        PyErr_Format(PyExc_TypeError, "%s must hold uint8", name);
        return -1;
    }
    if (view->ndim != 3 || view->len <= 0) {
        PyErr_Format(PyExc_ValueError, "%s must be [height, width, channels], none of them 0",
                     name);
        return -1;
    }
    image->bytes = view->buf;
    image->height = (size_t)view->shape[0];
    image->width = (size_t)view->shape[1];
    image->channels = (size_t)view->shape[2];
    image->stride = view->strides[0];
    /* The stride along an axis of length 1 may be anything. */
    if ((view->shape[2] > 1 && view->strides[2] != 1)
        || (view->shape[1] > 1 && view->strides[1] != view->shape[2])) {
        PyErr_Format(PyExc_ValueError, "the rows of %s must be without gaps", name);
        return -1;
    }
    return 0;
}

static PyObject *resize_views(const Py_buffer *source_view, const Py_buffer *out_view, int filter)
{
    Image source, out;
    int failed;
    if (image_of(&source, source_view, "image") || image_of(&out, out_view, "out"))
        return NULL;
    if (source.channels != out.channels)
        return PyErr_Format(PyExc_ValueError, "image has %zu channels and out has %zu",
                            source.channels, out.channels);
    /* Sizes of intermediate images are products of these. */
    if (source.height > UINT32_MAX || source.width > UINT32_MAX || out.height > UINT32_MAX
        || out.width > UINT32_MAX || source.channels > LANES)
        return PyErr_Format(PyExc_ValueError, "image or out is too large");
    Py_BEGIN_ALLOW_THREADS
    failed = resize_image(&source, &out, &FILTERS[filter]);
    Py_END_ALLOW_THREADS
    if (failed)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyObject *resize(PyObject *module, PyObject *args)
{
    PyObject *source, *out, *result = NULL;
    Py_buffer source_view, out_view;
    int filter;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOi", &source, &out, &filter))
        return NULL;
    if (filter < 0 || filter >= FILTER_COUNT)
        return PyErr_Format(PyExc_ValueError, "there is no filter %d", filter);
    if (PyObject_GetBuffer(source, &source_view, PyBUF_STRIDES | PyBUF_FORMAT))
        return NULL;
    if (!PyObject_GetBuffer(out, &out_view, PyBUF_STRIDES | PyBUF_FORMAT | PyBUF_WRITABLE)) {
        result = resize_views(&source_view, &out_view, filter);
        PyBuffer_Release(&out_view);
    }
    PyBuffer_Release(&source_view);
    return result;
}

static PyMethodDef METHODS[] = {
    {"resize", resize, METH_VARARGS,
     "resize(image, out, filter)\n--\n\n"
     "Resize image into out; filter is 0 for bilinear, 1 for bicubic, 2 for plain."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot SLOTS[] = {{0, NULL}};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_resample",
    .m_doc = "Resizes images with antialiasing, without the GIL.",
    .m_methods = METHODS,
    .m_slots = SLOTS,
};

PyMODINIT_FUNC PyInit__resample(void)
{
    return PyModuleDef_Init(&MODULE);
}
