/* How much of each old pixel goes into a new one. */

#ifndef QUICKFIT_WEIGHTS_H
#define QUICKFIT_WEIGHTS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Weights have this many bits after the binary point; sums of 255 times all of them, negative
 * ones included, stay within 32 bits. */
#define PRECISION_BITS 22
/* Vectors multiply 16 bits: a weight is cut into an upper part and these lower bits. */
#define LOWER_BITS 11

typedef struct {
    double support; /* how far it reaches, in new pixels */
    double (*weight)(double);
    int widens; /* when shrinking, over all old pixels that a new one covers */
} Filter;

static double bilinear(double x)
{
    x = fabs(x);
    return x < 1.0 ? 1.0 - x : 0.0;
}

/* Keys' cubic with a = -0.5. */
static double bicubic(double x)
{
    x = fabs(x);
    if (x < 1.0)
        return (1.5 * x - 2.5) * x * x + 1.0;
    if (x < 2.0)
        return ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0;
    return 0.0;
}

/* The last one is what TensorFlow calls bilinear: the four nearest pixels, whatever lies between. */
static const Filter FILTERS[] = {{1.0, bilinear, 1}, {2.0, bicubic, 1}, {1.0, bilinear, 0}};
#define FILTER_COUNT ((int)(sizeof(FILTERS) / sizeof(FILTERS[0])))

/* The weights of two neighbouring old pixels: w = upper * 2^LOWER_BITS + lower. */
typedef struct {
    int16_t upper[2];
    int16_t lower[2];
} WeightPair;

/* What one new row or column is made of. */
typedef struct {
    size_t first; /* old pixel */
    size_t count; /* old pixels */
    const WeightPair *pairs; /* (count + 1) / 2; after an odd last weight comes 0 */
} Span;

typedef struct {
    Span *spans;
    WeightPair *pairs;
} Plan;

static void plan_free(Plan *plan)
{
    free(plan->spans);
    free(plan->pairs);
}

/* malloc of count * size, NULL also when that is more than there can be. */
static void *allocate(size_t count, size_t size)
{
    return count > PTRDIFF_MAX / size ? NULL : malloc(count * size);
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void set_weight(WeightPair *pairs, size_t i, double share)
{
    double scaled = share * (double)(1 << PRECISION_BITS);
    int32_t weight = (int32_t)(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
    int32_t lower = weight & ((1 << LOWER_BITS) - 1);
    pairs[i / 2].upper[i % 2] = (int16_t)((weight - lower) / (1 << LOWER_BITS));
    pairs[i / 2].lower[i % 2] = (int16_t)lower;
}

/* Sets the weights of the span's pixels around `centre`; `scale` is the old pixels per new one. */
static void set_weights(const Span *span, WeightPair *pairs, const Filter *filter, double centre,
                        double scale)
{
    double total = 0.0, shrink = 1.0 / scale;
    for (size_t i = 0; i < span->count; i++)
        total += filter->weight(((double)(span->first + i) - centre + 0.5) * shrink);
    memset(pairs, 0, (span->count + 1) / 2 * sizeof(*pairs));
    for (size_t i = 0; i < span->count; i++)
        set_weight(pairs, i,
                   filter->weight(((double)(span->first + i) - centre + 0.5) * shrink) / total);
}

/* Returns 0, or -1 without memory; either way the plan is to be freed. */
static int plan_make(Plan *plan, const Filter *filter, size_t old_size, size_t new_size)
{
    double step = (double)old_size / (double)new_size;
    /* Enlarged pixels have no gaps to be averaged over. */
    double scale = step < 1.0 || !filter->widens ? 1.0 : step;
    double reach = filter->support * scale;
    size_t room = (size_t)ceil(reach) + 1; /* pairs per new pixel */
    plan->spans = allocate(new_size, sizeof(*plan->spans));
    plan->pairs = allocate(new_size, room * sizeof(*plan->pairs));
    if (!plan->spans || !plan->pairs)
        return -1;
    for (size_t i = 0; i < new_size; i++) {
        double centre = ((double)i + 0.5) * step;
        double first = centre - reach + 0.5;
        Span *span = &plan->spans[i];
        span->first = smaller(first < 0 ? 0 : (size_t)first, old_size - 1);
        span->count = smaller((size_t)(centre + reach + 0.5), old_size) - span->first;
        span->pairs = plan->pairs + i * room;
        set_weights(span, plan->pairs + i * room, filter, centre, scale);
    }
    return 0;
}

#endif
