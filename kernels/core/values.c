/* Makes and checks values; each loop is simple enough for the compiler to vectorise or pipeline, so
 * that filling and checking run at memory speed. */
#include "values.h"

#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#define WORD_BYTE(word, i) ((uint8_t)((word) >> (8 * (7 - (i)))))
#else
#define WORD_BYTE(word, i) ((uint8_t)((word) >> (8 * (i))))
#endif

/* The hash multiplies 64-bit words, which only the newest vector instructions do at once: the program
 * chooses when it starts, and runs everywhere. A sanitizer is not ready for such a choice. */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && __GNUC__ >= 12 &&                    \
    !defined(__SANITIZE_ADDRESS__)
#define WIDEST __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define WIDEST
#endif

/* The finaliser of SplitMix64 (Steele, Lea, Flood 2014), with one multiplication left out. */
static inline uint64_t mix(uint64_t x) {
    x *= 0x9E3779B97F4A7C15u;
    x ^= x >> 32;
    x *= 0xD6E8FEB86659FD93u;
    return x ^ (x >> 29);
}

uint64_t io_value_key(uint64_t seed, int dataset, uint64_t step) {
    return mix(mix(seed + 1) + mix((uint64_t)dataset + 1) * 3 + step * 0xA24BAED4963EE407u);
}

/* Floats lie in [1, 2): every bit pattern is a number, and no library changes it on its way. */
static inline uint64_t float64_at(uint64_t key, uint64_t i) {
    return (mix(key + i) >> 12) | 0x3FF0000000000000u;
}
static inline uint32_t float32_at(uint64_t key, uint64_t i) {
    return (uint32_t)(mix(key + i) >> 41) | 0x3F800000u;
}
static inline uint64_t int64_at(uint64_t key, uint64_t i) { return mix(key + i) >> 1; }
static inline uint32_t int32_at(uint64_t key, uint64_t i) { return (uint32_t)(mix(key + i) >> 33); }
/* Bytes are cut from words, eight at a time. */
static inline uint64_t word_at(uint64_t key, uint64_t i) { return mix(key + i); }
static inline uint8_t byte_at(uint64_t key, uint64_t i) { return WORD_BYTE(word_at(key, i / 8), i % 8); }

uint64_t io_value(uint64_t key, io_type type, uint64_t index) {
    switch (type) {
    case IO_BYTE: return byte_at(key, index);
    case IO_INT32: return int32_at(key, index);
    case IO_INT64: return int64_at(key, index);
    case IO_FLOAT32: return float32_at(key, index);
    default: return float64_at(key, index);
    }
}

/* Elements as they may stand in a buffer: a part can begin in the middle of a word. */
typedef uint64_t any64 __attribute__((aligned(4), may_alias));
typedef uint32_t any32 __attribute__((may_alias));

#define FILL(type, at)                                                                                       \
    do {                                                                                                     \
        type *restrict out = data;                                                                           \
        for (uint64_t i = 0; i < n; i++) out[i] = at(key, index + i);                                        \
    } while (0)

static inline void fill_bytes(uint8_t *restrict out, uint64_t key, uint64_t index, uint64_t n) {
    while (n && index % 8) *out++ = byte_at(key, index++), n--;
    for (; n >= 8; n -= 8, index += 8, out += 8) {
        uint64_t word = word_at(key, index / 8);
        memcpy(out, &word, 8);
    }
    while (n) *out++ = byte_at(key, index++), n--;
}

WIDEST static void fill_run(void *data, io_type type, uint64_t key, uint64_t index, uint64_t n) {
    switch (type) {
    case IO_BYTE: fill_bytes(data, key, index, n); break;
    case IO_INT32: FILL(any32, int32_at); break;
    case IO_FLOAT32: FILL(any32, float32_at); break;
    case IO_INT64: FILL(any64, int64_at); break;
    default: FILL(any64, float64_at); break;
    }
}

/* Is anything of the run wrong? A sum of differences, so that the loop has no branch. */
#define DIFFERS(type, at)                                                                                    \
    do {                                                                                                     \
        const type *in = data;                                                                               \
        type sum = 0;                                                                                        \
        for (uint64_t i = 0; i < n; i++) sum |= in[i] ^ at(key, index + i);                                  \
        return sum != 0;                                                                                     \
    } while (0)

static inline bool bytes_differ(const uint8_t *in, uint64_t key, uint64_t index, uint64_t n) {
    uint64_t sum = 0;
    while (n && index % 8) sum |= (uint64_t)(*in++ ^ byte_at(key, index++)), n--;
    for (; n >= 8; n -= 8, index += 8, in += 8) {
        uint64_t word;
        memcpy(&word, in, 8);
        sum |= word ^ word_at(key, index / 8);
    }
    while (n) sum |= (uint64_t)(*in++ ^ byte_at(key, index++)), n--;
    return sum != 0;
}

WIDEST static bool run_differs(const void *data, io_type type, uint64_t key, uint64_t index, uint64_t n) {
    switch (type) {
    case IO_BYTE: return bytes_differ(data, key, index, n);
    case IO_INT32: DIFFERS(any32, int32_at);
    case IO_FLOAT32: DIFFERS(any32, float32_at);
    case IO_INT64: DIFFERS(any64, int64_at);
    default: DIFFERS(any64, float64_at);
    }
}

void io_fill(const io_schema *schema, const io_part *part, uint64_t seed, uint64_t step) {
    io_type type = schema->datasets[part->dataset].type;
    uint64_t key = io_value_key(seed, part->dataset, step), size = io_type_size(type);
    for (io_runs r = io_runs_of(schema, part); io_runs_next(&r);)
        fill_run((char *)part->data + r.local * size, type, key, part->index0 + r.global, r.length);
}

static uint64_t bits_at(const char *data, uint64_t size) {
    uint64_t bits = 0;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(&bits, data, size);
#else
    memcpy((char *)&bits + 8 - size, data, size);
#endif
    return bits;
}

/* Slow, for runs that are known to be wrong: counts, and keeps the first. */
static void count_wrong(const io_part *part, const io_runs *r, io_type type, uint64_t key, const char *facts,
                        io_check *check) {
    uint64_t size = io_type_size(type);
    const char *data = (const char *)part->data + r->local * size;
    for (uint64_t i = 0; i < r->length; i++) {
        uint64_t found = bits_at(data + i * size, size);
        uint64_t expected =
            facts ? bits_at(facts + i * size, size) : io_value(key, type, part->index0 + r->global + i);
        if (found == expected) continue;
        if (!check->wrong++) {
            check->dataset = part->dataset;
            check->index = r->global + i;
            check->local = r->local + i;
            check->part = *part;
            check->expected = expected;
            check->found = found;
        }
    }
}

static void verify(const io_schema *schema, const io_part *part, uint64_t key, const void *facts,
                   io_check *check) {
    io_type type = schema->datasets[part->dataset].type;
    uint64_t size = io_type_size(type);
    for (io_runs r = io_runs_of(schema, part); io_runs_next(&r);) {
        check->elements += r.length;
        check->bytes += r.length * size;
        const char *data = (const char *)part->data + r.local * size;
        const char *right = facts ? (const char *)facts + r.local * size : NULL;
        if (right ? memcmp(data, right, r.length * size) != 0
                  : run_differs(data, type, key, part->index0 + r.global, r.length))
            count_wrong(part, &r, type, key, right, check);
    }
}

void io_verify(const io_schema *schema, const io_part *part, uint64_t seed, uint64_t step, io_check *check) {
    verify(schema, part, io_value_key(seed, part->dataset, step), NULL, check);
}

void io_verify_facts(const io_schema *schema, const io_part *part, const void *facts, io_check *check) {
    verify(schema, part, 0, facts, check);
}
