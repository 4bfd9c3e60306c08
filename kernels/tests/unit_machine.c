/* SPDX-License-Identifier: BSD-3-Clause */
/* What is read from the machine: its mounts, and hints in the environment. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/filesystem.h"
#include "base/hints.h"
#include "report/document_hints.h"
#include "tests/unit.h"

/* As written by Linux 6. */
static const char mounts[] = "/dev/vda / ext4 rw,relatime 0 0\n"
                             "nfs:/a /data nfs4 rw 0 0\n"
                             "server:/x\\043y\\134z /data/with\\040blank\\043\\134043 fuse.x rw,a=\\054 0 0\n"
                             "tmpfs /data tmpfs rw,size=1k 0 0\n"
                             "short line\n";

static void test_mounts(void) {
    static const struct {
        const char *path, *type, *mount, *device, *options;
    } cases[] = {
        {"/home/me",                     "ext4",   "/",                      "/dev/vda",       "rw,relatime"},
        {"/data/a",                      "tmpfs",  "/data",                  "tmpfs",          "rw,size=1k" },
        {"/data",                        "tmpfs",  "/data",                  "tmpfs",          "rw,size=1k" },
        {"/database",                    "ext4",   "/",                      "/dev/vda",       "rw,relatime"},
        {"/data/with blank#\\043/below", "fuse.x", "/data/with blank#\\043", "server:/x#y\\z", "rw,a=,"     },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        io_filesystem fs = {.type = "unknown"};
        FILE *file = fmemopen((void *)(uintptr_t)mounts, sizeof mounts - 1, "r");
        CHECK(file, "fmemopen");
        if (!file) return;
        io_mount_of(cases[i].path, file, &fs);
        fclose(file);
        CHECK(!strcmp(fs.type, cases[i].type), "%s: type %s", cases[i].path, fs.type);
        CHECK(!strcmp(fs.mount, cases[i].mount), "%s: mount %s", cases[i].path, fs.mount);
        CHECK(!strcmp(fs.device, cases[i].device), "%s: device %s", cases[i].path, fs.device);
        CHECK(!strcmp(fs.options, cases[i].options), "%s: options %s", cases[i].path, fs.options);
    }
}

static void check_text(const json_t *object, const char *key, const char *wanted) {
    const char *value = json_string_value(json_object_get(object, key));
    CHECK(value ? wanted && !strcmp(value, wanted) : !wanted, "%s is %s", key, value ? value : "missing");
}

/* The libraries define which of two sources takes precedence; the document follows. */
static void test_hints_of_the_environment(void) {
    static char *const environment[] = {"OMPI_MCA_io_ompio_num_aggregators=2", "OMPI_MCA_pml=ob1",
                                        "OMPI_MCA_fcoll=vulcan", "BGLOCKLESSMPIO_F_TYPE=0x47=1", NULL};
    static const char *const wanted[][3] = {
        {"io_ompio_num_aggregators", "2",       "OMPI_MCA_io_ompio_num_aggregators"},
        {"fcoll",                    "vulcan",  "OMPI_MCA_fcoll"                   },
        {"BGLOCKLESSMPIO_F_TYPE",    "0x47=1",  "BGLOCKLESSMPIO_F_TYPE"            },
        {"pml",                      NULL,      NULL                               },
        {"nc_var_align_size",        "512",     "PNETCDF_HINTS"                    },
        {"cb_nodes",                 "4",       "PNETCDF_HINTS"                    },
        {"romio_cb_write",           "enable",  "ROMIO_HINTS"                      },
        {"romio_ds_write",           "disable", NULL                               },
        {"#romio_no_indep_rw",       NULL,      NULL                               },
    };
    char path[] = "/tmp/iokernel_unit.XXXXXX";
    int file = mkstemp(path);
    CHECK(file >= 0, "mkstemp");
    if (file < 0) return;
    dprintf(file, "# of this site\nromio_cb_write enable\nromio_ds_write enable\n#romio_no_indep_rw true\n");
    close(file);
    setenv("ROMIO_HINTS", path, 1);
    setenv("PNETCDF_HINTS", "nc_var_align_size=512; cb_nodes=4;nonsense", 1);
    io_hints given = {0};
    io_error error = {0};
    CHECK(!io_hints_add(&given, "romio_ds_write=disable", &error), "%s", error.text);
    CHECK(!io_hints_add(&given, "cb_nodes=2", &error), "%s", error.text);
    json_t *sources = json_object(), *asked = io_asked_hints(&given, environment, sources);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        check_text(asked, wanted[i][0], wanted[i][1]);
        check_text(sources, wanted[i][0], wanted[i][2]);
    }
    CHECK(json_object_size(asked) == 7, "%zu hints", json_object_size(asked));
    json_t *used = json_pack("{s:s,s:s}", "cb_nodes", "4", "romio_cb_write", "automatic");
    json_t *ignored = io_ignored_hints(asked, sources, used);
    json_t *expected = json_pack("[s,s,s]", "romio_cb_write", "romio_ds_write", "nc_var_align_size");
    CHECK(json_equal(ignored, expected), "%zu ignored", json_array_size(ignored));
    json_decref(expected);
    json_decref(ignored);
    json_decref(used);
    json_decref(asked);
    json_decref(sources);
    free(given.items);
    unsetenv("ROMIO_HINTS");
    unsetenv("PNETCDF_HINTS");
    remove(path);
}

void unit_machine(void) {
    test_hints_of_the_environment();
    test_mounts();
}
