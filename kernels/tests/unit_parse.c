/* SPDX-License-Identifier: BSD-3-Clause */
/* Option values: which are accepted, and that errors name the option and the value. */
#include <stdlib.h>
#include <string.h>

#include "base/hints.h"
#include "base/parse.h"
#include "tests/unit.h"

static void refused(int status, const io_error *error, const char *text) {
    CHECK(status == -1 && error->set && error->usage, "'%s' is taken", text);
    CHECK(strstr(error->text, "-x") && strstr(error->text, text), "'%s': %s", text, error->text);
    CHECK(strstr(error->text, "expected"), "'%s' does not say what is expected: %s", text, error->text);
}

static void test_counts(void) {
    static const char *const bad[] = {"",
                                      "0",
                                      "-1",
                                      "+1",
                                      " 1",
                                      "1 ",
                                      "1x",
                                      "1.5",
                                      "1e3",
                                      "0x10",
                                      "k",
                                      "NaN",
                                      "1,2",
                                      "9223372036854775808",
                                      "18446744073709551617"};
    static const struct {
        const char *text;
        uint64_t value;
    } good[] = {
        {"1",                   1                   },
        {"007",                 7                   },
        {"4294967297",          UINT64_C(4294967297)},
        {"9223372036854775807", INT64_MAX           },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        io_error error = {0};
        uint64_t value;
        refused(io_parse_count("-x", bad[i], &value, &error), &error, bad[i]);
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        io_error error = {0};
        uint64_t value = 0;
        CHECK(!io_parse_count("-x", good[i].text, &value, &error), "%s: %s", good[i].text, error.text);
        CHECK(value == good[i].value, "%s is %" PRIu64, good[i].text, value);
    }
}

static void test_sizes(void) {
    static const char *const bad[] = {"",         "0",    "0k",  "-1k", "k",        "1kb",
                                      "1 k",      "1.5m", "1p",  "1mk", "1k ",      "m1",
                                      "0x1",      "1e3",  "1-1", "big", "8388608t", "9223372036854775807k",
                                      "16777216t"};
    static const struct {
        const char *text;
        uint64_t value;
    } good[] = {
        {"1",        1                            },
        {"1001",     1001                         },
        {"3k",       3072                         },
        {"3K",       3072                         },
        {"2m",       2097152                      },
        {"5g",       UINT64_C(5368709120)         },
        {"1t",       UINT64_C(1099511627776)      },
        {"8388607t", UINT64_C(9223370937343148032)},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        io_error error = {0};
        uint64_t value;
        refused(io_parse_size("-x", bad[i], &value, &error), &error, bad[i]);
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        io_error error = {0};
        uint64_t value = 0;
        CHECK(!io_parse_size("-x", good[i].text, &value, &error), "%s: %s", good[i].text, error.text);
        CHECK(value == good[i].value, "%s is %" PRIu64, good[i].text, value);
    }
}

static void test_grids(void) {
    static const char *const bad[] = {
        "",       "1",      "1x2",   "1x2x",  "x1x2",  "1x2x3x4", "1x0x3",  "1x-2x3",
        "1 x2x3", "1x2x3 ", "1,2,3", "1X2X3", "axbxc", "1xx3",    "1x2x3k", "9223372036854775808x1x1"};
    uint64_t grid[3] = {0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        io_error error = {0};
        refused(io_parse_grid("-x", bad[i], grid, &error), &error, bad[i]);
    }
    io_error error = {0};
    CHECK(!io_parse_grid("-x", "13x1x4294967297", grid, &error), "%s", error.text);
    CHECK(grid[0] == 13 && grid[1] == 1 && grid[2] == UINT64_C(4294967297), "%" PRIu64, grid[2]);
}

static void test_hints(void) {
    static const char *const bad[] = {"",
                                      "foo",
                                      "=1",
                                      "cb_nodes=",
                                      "cb_buffer_size=0",
                                      "cb_buffer_size=-1",
                                      "cb_buffer_size=4k",
                                      "cb_nodes=99999999999999999999",
                                      "romio_cb_write=yes",
                                      "romio_ds_read=ENABLE",
                                      "direct_read=1",
                                      "write:",
                                      "read:=1",
                                      "write:romio_cb_write=yes",
                                      "read:hdf5_chunk=2"};
    static const char *const good[] = {"cb_buffer_size=1048576",
                                       "romio_cb_write=enable",
                                       "romio_ds_write=automatic",
                                       "direct_write=false",
                                       "of_my_own=a=b",
                                       "cb_nodes=4",
                                       "write:IBM_largeblock_io=true",
                                       "read:IBM_sparse_access=true"};
    io_hints hints = {0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        io_error error = {0};
        CHECK(io_hints_add(&hints, bad[i], &error) == -1 && error.usage, "'%s' is taken", bad[i]);
        CHECK(strstr(error.text, "--hint"), "'%s': %s", bad[i], error.text);
        CHECK(!hints.n, "'%s' is kept", bad[i]);
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        io_error error = {0};
        CHECK(!io_hints_add(&hints, good[i], &error), "'%s': %s", good[i], error.text);
    }
    CHECK(hints.n == (int)(sizeof good / sizeof *good), "%d hints", hints.n);
    const char *own = io_hint_value(&hints, "of_my_own");
    CHECK(own && !strcmp(own, "a=b"), "a value may hold '='");
    CHECK(!io_hint_value(&hints, "of_my"), "a key is matched whole");
    char name[IO_HINT_NAME];
    io_hint_name(&hints.items[hints.n - 1], name);
    CHECK(!strcmp(name, "read:IBM_sparse_access"), "%s", name);
    CHECK(!strcmp(hints.items[hints.n - 1].key, "IBM_sparse_access"), "the direction is no part of the key");
    free(hints.items);
}

void unit_parse(void) {
    test_counts();
    test_sizes();
    test_grids();
    test_hints();
}
