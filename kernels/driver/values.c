/* SPDX-License-Identifier: BSD-3-Clause */
/* Generates and checks values. The loops are simple enough for the compiler to vectorize or pipeline, so that
 * both run at memory speed. */
#include "driver/values.h"

#include <string.h>

#include "base/planted.h"

#define LOW_BYTES_FIRST (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
#if !LOW_BYTES_FIRST
#define WORD_BYTE(word, i) ((uint8_t)((word) >> (8 * (7 - (i)))))
#define WORD_QUARTER(word, i) ((uint16_t)((word) >> (16 * (3 - (i)))))
#define WORD_HALF(word, i) ((uint32_t)((word) >> (32 * (1 - (i)))))
#else
#define WORD_BYTE(word, i) ((uint8_t)((word) >> (8 * (i))))
#define WORD_QUARTER(word, i) ((uint16_t)((word) >> (16 * (i))))
#define WORD_HALF(word, i) ((uint32_t)((word) >> (32 * (i))))
#endif

/* Compiles for several vector instruction sets, selected at start. Sanitizers cannot handle that. */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && __GNUC__ >= 12 &&                    \
    !defined(__SANITIZE_ADDRESS__)
#define WIDEST __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define WIDEST
#endif

/* The finalizer of SplitMix64 (Steele, Lea, Flood 2014) without one multiplication, for keys. */
#define STEP 0x9E3779B97F4A7C15u
static inline uint64_t mix(uint64_t x) {
    x *= STEP;
    x ^= x >> 32;
    x *= 0xD6E8FEB86659FD93u;
    return x ^ (x >> 29);
}

/* Mixes a multiple of STEP into the word at that index. Each line is invertible, so different words stay
 * different. There is no product, which AVX2 lacks for 64 bits; in a loop the next multiple is an addition.
 * Correlation between neighbors is acceptable: values only need to identify their position and be
 * incompressible. */
static inline uint64_t fold(uint64_t x) {
    x ^= x >> 32;
    return x + (x << 21);
}
static inline uint64_t word_of(uint64_t number) { return fold(number * STEP); }

uint64_t io_value_key(uint64_t seed, int dataset, uint64_t step) {
    return mix(mix(seed + 1) + mix((uint64_t)dataset + 1) * 3 + step * 0xA24BAED4963EE407u);
}

/* A word holds one value of 8 bytes, two of 4, four of 2 or eight bytes; these functions convert it. Floats
 * are in [1, 2), so that every bit pattern is a number that no library changes. Signed integers other than
 * bytes are not negative; characters are printable. */
static inline uint64_t as_float64(uint64_t word) { return (word >> 12) | 0x3FF0000000000000u; }
static inline uint64_t as_float32(uint64_t word) {
    return (word >> 9 & 0x007FFFFF007FFFFFu) | 0x3F8000003F800000u;
}
static inline uint64_t as_int64(uint64_t word) { return word >> 1; }
static inline uint64_t as_int32(uint64_t word) { return word & 0x7FFFFFFF7FFFFFFFu; }
static inline uint64_t as_int16(uint64_t word) { return word & 0x7FFF7FFF7FFF7FFFu; }
static inline uint64_t as_chars(uint64_t word) { return (word & 0x3F3F3F3F3F3F3F3Fu) + 0x3030303030303030u; }
static inline uint64_t as_bits(uint64_t word) { return word; }

/* DO(how) for the values of a type. */
#define BY_TYPE(type, DO)                                                                                    \
    switch (type) {                                                                                          \
    case IO_INT16: DO(as_int16); break;                                                                      \
    case IO_INT32: DO(as_int32); break;                                                                      \
    case IO_INT64: DO(as_int64); break;                                                                      \
    case IO_FLOAT32: DO(as_float32); break;                                                                  \
    case IO_FLOAT64: DO(as_float64); break;                                                                  \
    case IO_CHAR: DO(as_chars); break;                                                                       \
    default: DO(as_bits); break;                                                                             \
    }

/* The value at index `at` of a word with values of `size` bytes. */
static inline uint64_t cut_value(uint64_t word, uint64_t size, uint64_t at) {
    switch (size) {
    case 1: return WORD_BYTE(word, at);
    case 2: return WORD_QUARTER(word, at);
    case 4: return WORD_HALF(word, at);
    default: return word;
    }
}

/* The word at a position: the last `repeated` of each group are equal. */
static inline uint64_t source_of_repeat(uint64_t number, uint64_t repeated) {
    return number % IO_REPEAT_GROUP < IO_REPEAT_GROUP - repeated ? number : number | (IO_REPEAT_GROUP - 1);
}

uint64_t io_value(uint64_t key, io_type type, int repeated, uint64_t index) {
    uint64_t size = io_type_size(type), each = 8 / size;
    uint64_t word = word_of(key + source_of_repeat(index / each, (uint64_t)repeated));
#define MAKE(as) word = as(word)
    BY_TYPE(type, MAKE)
#undef MAKE
    return cut_value(word, size, index % each);
}

/* Unaligned words: a part can begin in the middle of one. */
typedef uint64_t any64 __attribute__((aligned(1), may_alias));

/* `words` complete words, starting with number `first`. */
#define FILL(as)                                                                                             \
    do {                                                                                                     \
        any64 *restrict out = data;                                                                          \
        uint64_t x = (key + first) * STEP;                                                                   \
        for (uint64_t i = 0; i < words; i++, x += STEP) out[i] = as(fold(x));                                \
    } while (0)

WIDEST static void fill_words(void *data, io_type type, uint64_t key, uint64_t first,
                              uint64_t words){BY_TYPE(type, FILL)}

/* Is any word wrong? Accumulates differences, so that the loop has no branch. */
#define DIFFER(as)                                                                                           \
    do {                                                                                                     \
        const any64 *in = data;                                                                              \
        uint64_t sum = 0, x = (key + first) * STEP;                                                          \
        for (uint64_t i = 0; i < words; i++, x += STEP) sum |= in[i] ^ as(fold(x));                          \
        differ = sum != 0;                                                                                   \
    } while (0)

WIDEST
    static bool words_differ(const void *data, io_type type, uint64_t key, uint64_t first, uint64_t words) {
    bool differ;
    BY_TYPE(type, DIFFER)
    return differ;
}

/* The word that a group repeats. */
static uint64_t repeated_word(io_type type, uint64_t key, uint64_t number) {
    uint64_t word = word_of(key + (number | (IO_REPEAT_GROUP - 1)));
#define MAKE(as) word = as(word)
    BY_TYPE(type, MAKE)
#undef MAKE
    return word;
}

/* The length of the run of words, from number `first`, that are either all distinct or all `same`. */
static uint64_t run_of_kind(uint64_t first, uint64_t words, uint64_t repeated, bool *same) {
    uint64_t at = first % IO_REPEAT_GROUP, distinct = IO_REPEAT_GROUP - repeated;
    *same = at >= distinct;
    uint64_t n = *same ? IO_REPEAT_GROUP - at : distinct - at;
    return n < words && repeated ? n : words;
}

static void fill_groups(char *data, io_type type, uint64_t key, int repeated, uint64_t first,
                        uint64_t words) {
    bool same;
    for (uint64_t n; words; data += 8 * n, first += n, words -= n) {
        n = run_of_kind(first, words, (uint64_t)repeated, &same);
        if (!same) {
            fill_words(data, type, key, first, n);
            continue;
        }
        uint64_t word = repeated_word(type, key, first);
        any64 *out = (any64 *)(void *)data;
        for (uint64_t i = 0; i < n; i++) out[i] = word;
    }
}

static bool groups_differ(const char *data, io_type type, uint64_t key, int repeated, uint64_t first,
                          uint64_t words) {
    bool same;
    for (uint64_t n; words; data += 8 * n, first += n, words -= n) {
        n = run_of_kind(first, words, (uint64_t)repeated, &same);
        if (!same && words_differ(data, type, key, first, n)) return true;
        if (!same) continue;
        uint64_t word = repeated_word(type, key, first), sum = 0;
        const any64 *in = (const any64 *)(const void *)data;
        for (uint64_t i = 0; i < n; i++) sum |= in[i] ^ word;
        if (sum) return true;
    }
    return false;
}

/* A run of elements consists of single elements up to a word boundary, complete words, and single
 * elements. */
typedef struct {
    uint64_t each, before, words, after; /* elements per word; elements, words, elements */
} cut;

static cut cut_run(io_type type, uint64_t index, uint64_t n) {
    cut c = {.each = 8 / io_type_size(type)};
    c.before = (c.each - index % c.each) % c.each;
    if (c.before > n) c.before = n;
    c.words = (n - c.before) / c.each;
    c.after = n - c.before - c.words * c.each;
    return c;
}

static void fill_some(char *data, io_type type, uint64_t key, int repeated, uint64_t index, uint64_t n) {
    uint64_t size = io_type_size(type);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t bits = io_value(key, type, repeated, index + i);
        memcpy(data + i * size, (char *)&bits + (LOW_BYTES_FIRST ? 0 : 8 - size), size);
    }
}

static void fill_run(void *data, io_type type, uint64_t key, int repeated, uint64_t index, uint64_t n) {
    cut c = cut_run(type, index, n);
    char *words = (char *)data + c.before * io_type_size(type);
    fill_some(data, type, key, repeated, index, c.before);
    fill_groups(words, type, key, repeated, (index + c.before) / c.each, c.words);
    fill_some(words + 8 * c.words, type, key, repeated, index + n - c.after, c.after);
}

/* The values of a member have their own key, and are counted by element. */
static uint64_t member_value(const io_member *m, int number, uint64_t key, int repeated, uint64_t index) {
    return io_value(key + (uint64_t)(number + 1) * STEP, m->type, repeated, index);
}

/* Elements of a compound, starting with number `first`. */
static void fill_elements(char *data, const io_dataset *d, uint64_t key, uint64_t first, uint64_t n) {
    for (uint64_t element = first; element < first + n; element++)
        for (int i = 0; i < d->nmembers; i++) {
            const io_member *m = &d->members[i];
            const uint64_t size = io_type_size(m->type);
            for (uint64_t k = 0; k < m->count; k++, data += size) {
                uint64_t bits = member_value(m, i, key, d->repeated, element * m->count + k);
                memcpy(data, (char *)&bits + (LOW_BYTES_FIRST ? 0 : 8 - size), size);
            }
        }
}

void io_fill(const io_schema *schema, const io_part *part, uint64_t seed, uint64_t step) {
    const io_dataset *d = &schema->datasets[part->dataset];
    uint64_t key = io_value_key(seed, part->dataset, step), size = io_type_size(d->type);
    const uint64_t each = io_element_values(schema, d);
    for (io_runs r = io_runs_of(schema, part); d->nmembers && io_runs_next(&r);)
        fill_elements((char *)part->data + r.local, d, key, (part->index0 + r.global) / each,
                      r.length / each);
    for (io_runs r = io_runs_of(schema, part); !d->nmembers && io_runs_next(&r);)
        fill_run((char *)part->data + r.local * size, d->type, key, d->repeated, part->index0 + r.global,
                 r.length);
}

static uint64_t bits_at(const char *data, uint64_t size) {
    uint64_t bits = 0;
    memcpy((char *)&bits + (LOW_BYTES_FIRST ? 0 : 8 - size), data, size);
    return bits;
}

static bool some_differ(const char *data, io_type type, uint64_t key, int repeated, uint64_t index,
                        uint64_t n) {
    uint64_t size = io_type_size(type);
    for (uint64_t i = 0; i < n; i++)
        if (bits_at(data + i * size, size) != io_value(key, type, repeated, index + i)) return true;
    return false;
}

static bool run_differs(const void *data, io_type type, uint64_t key, int repeated, uint64_t index,
                        uint64_t n) {
    cut c = cut_run(type, index, n);
    const char *words = (const char *)data + c.before * io_type_size(type);
    return some_differ(data, type, key, repeated, index, c.before) ||
           groups_differ(words, type, key, repeated, (index + c.before) / c.each, c.words) ||
           some_differ(words + 8 * c.words, type, key, repeated, index + n - c.after, c.after);
}

#define BLOCK 1024 /* elements */

/* Slow path for runs with a wrong value: counts them, and keeps the first. */
static bool all_right(const io_dataset *d, const char *data, uint64_t key, const char *facts, uint64_t index,
                      uint64_t n) {
    return facts ? !memcmp(data, facts, n * io_type_size(d->type))
                 : !run_differs(data, d->type, key, d->repeated, index, n);
}

static void count_wrong(const io_part *part, const io_runs *r, const io_dataset *d, uint64_t key,
                        const char *facts, io_check *check) {
    uint64_t size = io_type_size(d->type);
    const char *data = (const char *)part->data + r->local * size;
    for (uint64_t i = 0; i < r->length; i++) {
        uint64_t index = part->index0 + r->global + i, left = r->length - i;
        uint64_t block = left < BLOCK ? left : BLOCK;
        if (i % BLOCK == 0 &&
            all_right(d, data + i * size, key, facts ? facts + i * size : NULL, index, block)) {
            i += block - 1;
            continue;
        }
        uint64_t found = bits_at(data + i * size, size);
        uint64_t expected =
            facts ? bits_at(facts + i * size, size) : io_value(key, d->type, d->repeated, index);
        if (found != expected && iogauge_take_back &&
            iogauge_take_back((char *)part->data + (r->local + i) * size, size))
            found = bits_at(data + i * size, size);
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

/* Verifies a run of a compound element by element. */
static void verify_elements(const io_part *part, const io_runs *r, const io_dataset *d, uint64_t size,
                            uint64_t key, io_check *check) {
    char expected[IO_MAX_ELEMENT];
    for (uint64_t at = 0; at < r->length; at += size) {
        io_runs one = *r;
        one.global += at;
        one.local += at;
        one.length = size;
        fill_elements(expected, d, key, (part->index0 + one.global) / size, 1);
        if (memcmp((const char *)part->data + one.local, expected, size))
            count_wrong(part, &one, d, key, expected, check);
    }
}

static void verify(const io_schema *schema, const io_part *part, uint64_t key, const void *facts,
                   io_check *check) {
    const io_dataset *d = &schema->datasets[part->dataset];
    uint64_t size = io_type_size(d->type);
    for (io_runs r = io_runs_of(schema, part); io_runs_next(&r);) {
        check->elements += r.length;
        check->bytes += r.length * size;
        const char *data = (const char *)part->data + r.local * size;
        const char *expected = facts ? (const char *)facts + r.local * size : NULL;
        if (d->nmembers && !facts) {
            verify_elements(part, &r, d, io_element_values(schema, d), key, check);
            continue;
        }
        if (expected ? memcmp(data, expected, r.length * size) != 0
                     : run_differs(data, d->type, key, d->repeated, part->index0 + r.global, r.length))
            count_wrong(part, &r, d, key, expected, check);
    }
}

void io_verify(const io_schema *schema, const io_part *part, uint64_t seed, uint64_t step, io_check *check) {
    verify(schema, part, io_value_key(seed, part->dataset, step), NULL, check);
}

void io_verify_facts(const io_schema *schema, const io_part *part, const void *facts, io_check *check) {
    verify(schema, part, 0, facts, check);
}
