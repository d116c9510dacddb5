/* The two operations on vectors of 16 bytes: a weighted sum, and a transposition. */

#ifndef QUICKFIT_VECTORS_H
#define QUICKFIT_VECTORS_H

#include "_weights.h"

#if defined(__SSE2__) && defined(__GNUC__) && !defined(QUICKFIT_PORTABLE)
#include <immintrin.h>
#define IS_X86
#endif

/* Bytes of a vector, and rows that are transposed together. */
#define LANES 16
#define HALF (1 << (PRECISION_BITS - 1))

static int32_t weight_of(const Span *span, size_t i)
{
    const WeightPair *pair = &span->pairs[i / 2];
    return pair->upper[i % 2] * (1 << LOWER_BITS) + pair->lower[i % 2];
}

static uint8_t rounded(int32_t sum)
{
    int32_t value = sum >> PRECISION_BITS;
    return value < 0 ? 0 : value > 255 ? 255 : (uint8_t)value;
}

/* out[0..15] = the weighted sum of the span's vectors, rounded and kept within 0 to 255. */
typedef void (*Blend)(uint8_t *out, const uint8_t *source, ptrdiff_t stride, const Span *span);

/* The same for fewer bytes than a vector has. */
static void blend_short(uint8_t *out, const uint8_t *source, ptrdiff_t stride, const Span *span,
                        size_t size)
{
    for (size_t at = 0; at < size; at++) {
        int32_t sum = HALF;
        for (size_t i = 0; i < span->count; i++)
            sum += weight_of(span, i) * source[(ptrdiff_t)i * stride + (ptrdiff_t)at];
        out[at] = rounded(sum);
    }
}

#ifdef IS_X86

#define AVX2 __attribute__((target("avx2")))

static int32_t both(const int16_t weights[2])
{
    int32_t bits;
    memcpy(&bits, weights, sizeof(bits));
    return bits;
}

static __m128i combined(__m128i upper, __m128i lower)
{
    __m128i sum = _mm_add_epi32(_mm_slli_epi32(upper, LOWER_BITS), lower);
    return _mm_srai_epi32(_mm_add_epi32(sum, _mm_set1_epi32(HALF)), PRECISION_BITS);
}

static void blend_sse2(uint8_t *out, const uint8_t *source, ptrdiff_t stride, const Span *span)
{
    const __m128i zero = _mm_setzero_si128();
    __m128i uppers[4] = {zero, zero, zero, zero}, lowers[4] = {zero, zero, zero, zero};
    for (size_t i = 0; i < span->count; i += 2) {
        /* After an odd last one comes a weight of 0: the same vector again is as good as any. */
        const uint8_t *next = i + 1 < span->count ? source + stride : source;
        __m128i a = _mm_loadu_si128((const __m128i *)source);
        __m128i b = _mm_loadu_si128((const __m128i *)next);
        __m128i low = _mm_unpacklo_epi8(a, b), high = _mm_unpackhi_epi8(a, b);
        __m128i pixels[4] = {_mm_unpacklo_epi8(low, zero), _mm_unpackhi_epi8(low, zero),
                             _mm_unpacklo_epi8(high, zero), _mm_unpackhi_epi8(high, zero)};
        __m128i upper = _mm_set1_epi32(both(span->pairs[i / 2].upper));
        __m128i lower = _mm_set1_epi32(both(span->pairs[i / 2].lower));
        for (int j = 0; j < 4; j++) {
            uppers[j] = _mm_add_epi32(uppers[j], _mm_madd_epi16(pixels[j], upper));
            lowers[j] = _mm_add_epi32(lowers[j], _mm_madd_epi16(pixels[j], lower));
        }
        source = next + stride;
    }
    __m128i low = _mm_packs_epi32(combined(uppers[0], lowers[0]), combined(uppers[1], lowers[1]));
    __m128i high = _mm_packs_epi32(combined(uppers[2], lowers[2]), combined(uppers[3], lowers[3]));
    _mm_storeu_si128((__m128i *)out, _mm_packus_epi16(low, high));
}

AVX2 static __m256i combined_avx2(__m256i upper, __m256i lower)
{
    __m256i sum = _mm256_add_epi32(_mm256_slli_epi32(upper, LOWER_BITS), lower);
    return _mm256_srai_epi32(_mm256_add_epi32(sum, _mm256_set1_epi32(HALF)), PRECISION_BITS);
}

AVX2 static void blend_avx2(uint8_t *out, const uint8_t *source, ptrdiff_t stride,
                            const Span *span)
{
    const __m256i zero = _mm256_setzero_si256();
    __m256i uppers[2] = {zero, zero}, lowers[2] = {zero, zero};
    for (size_t i = 0; i < span->count; i += 2) {
        const uint8_t *next = i + 1 < span->count ? source + stride : source;
        __m128i a = _mm_loadu_si128((const __m128i *)source);
        __m128i b = _mm_loadu_si128((const __m128i *)next);
        __m256i pixels[2] = {_mm256_cvtepu8_epi16(_mm_unpacklo_epi8(a, b)),
                             _mm256_cvtepu8_epi16(_mm_unpackhi_epi8(a, b))};
        __m256i upper = _mm256_set1_epi32(both(span->pairs[i / 2].upper));
        __m256i lower = _mm256_set1_epi32(both(span->pairs[i / 2].lower));
        for (int j = 0; j < 2; j++) {
            uppers[j] = _mm256_add_epi32(uppers[j], _mm256_madd_epi16(pixels[j], upper));
            lowers[j] = _mm256_add_epi32(lowers[j], _mm256_madd_epi16(pixels[j], lower));
        }
        source = next + stride;
    }
    /* Packing works on halves of 128 bits: the middle quarters are exchanged afterwards. */
    __m256i words = _mm256_permute4x64_epi64(
        _mm256_packs_epi32(combined_avx2(uppers[0], lowers[0]),
                           combined_avx2(uppers[1], lowers[1])), 0xD8);
    _mm_storeu_si128((__m128i *)out, _mm_packus_epi16(_mm256_castsi256_si128(words),
                                                      _mm256_extracti128_si256(words, 1)));
}

static Blend fastest_blend(void)
{
#ifdef QUICKFIT_NO_AVX2 /* for tests, on a processor that has it */
    return blend_sse2;
#else
    return __builtin_cpu_supports("avx2") ? blend_avx2 : blend_sse2;
#endif
}

/* 16 rows of 16 bytes become 16 columns, by interleaving row i with row i + 8 four times. */
static void transpose(uint8_t *out, ptrdiff_t out_stride, const uint8_t *source, ptrdiff_t stride)
{
    __m128i rows[LANES], next[LANES];
    for (int i = 0; i < LANES; i++)
        rows[i] = _mm_loadu_si128((const __m128i *)(source + i * stride));
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < LANES / 2; i++) {
            next[2 * i] = _mm_unpacklo_epi8(rows[i], rows[i + LANES / 2]);
            next[2 * i + 1] = _mm_unpackhi_epi8(rows[i], rows[i + LANES / 2]);
        }
        memcpy(rows, next, sizeof(rows));
    }
    for (int i = 0; i < LANES; i++)
        _mm_storeu_si128((__m128i *)(out + i * out_stride), rows[i]);
}

#else

static void blend_plain(uint8_t *out, const uint8_t *source, ptrdiff_t stride, const Span *span)
{
    int32_t sums[LANES];
    for (int lane = 0; lane < LANES; lane++)
        sums[lane] = HALF;
    for (size_t i = 0; i < span->count; i++) {
        int32_t weight = weight_of(span, i);
        for (int lane = 0; lane < LANES; lane++)
            sums[lane] += weight * source[lane];
        source += stride;
    }
    for (int lane = 0; lane < LANES; lane++)
        out[lane] = rounded(sums[lane]);
}

static Blend fastest_blend(void)
{
    return blend_plain;
}

static void transpose(uint8_t *out, ptrdiff_t out_stride, const uint8_t *source, ptrdiff_t stride)
{
    for (int i = 0; i < LANES; i++)
        for (int j = 0; j < LANES; j++)
            out[j * out_stride + i] = source[i * stride + j];
}

#endif

#endif
