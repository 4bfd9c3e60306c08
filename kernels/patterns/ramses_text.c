/* SPDX-License-Identifier: BSD-3-Clause */
/* The text files of a RAMSES dump. */
#include <inttypes.h>

#include "patterns/ramses.h"

/* As written by output_info. */
static void print_info(const ramses *s, uint64_t step, FILE *out) {
    const ramses_levels *l = &s->levels;
    const struct {
        const char *name;
        double value;
    } physics[] = {
        {"boxlen",  1                },
        {"time",    ramses_time(step)},
        {"aexp",    1                },
        {"H0",      1                },
        {"omega_m", 1                },
        {"omega_l", 0                },
        {"omega_k", 0                },
        {"omega_b", 0                },
        {"unit_l",  1                },
        {"unit_d",  1                },
        {"unit_t",  1                }
    };
    fprintf(out, "%-12s=%11" PRIu64 "\n%-12s=%11d\n%-12s=%11d\n%-12s=%11d\n", "ncpu", l->processes, "ndim",
            RAMSES_NDIM, "levelmin", l->base, "levelmax", l->levels);
    fprintf(out, "%-12s=%11" PRIu64 "\n%-12s=%11" PRIu64 "\n\n", "ngridmax", l->most, "nstep_coarse",
            step + 1);
    for (size_t i = 0; i < sizeof physics / sizeof *physics; i++)
        fprintf(out, "%-12s=%23.15E\n", physics[i].name, physics[i].value);
    fprintf(out, "\n%-13s=%-80s\n", "ordering type", "bisection");
    for (uint64_t i = 0; i < l->processes;
         i++) { /* a domain's corners, and its number of cells as its cost */
        ramses_box box = ramses_domain(l, i);
        double edge = (double)((uint64_t)1 << (l->base - 1)), cells = RAMSES_CELLS;
        for (int d = 0; d < RAMSES_NDIM; d++) fprintf(out, "%23.15E\n", (double)box.from[d] / edge);
        for (int d = 0; d < RAMSES_NDIM; d++) fprintf(out, "%23.15E\n", (double)box.to[d] / edge);
        for (int d = 0; d < RAMSES_NDIM; d++) cells *= (double)(box.to[d] - box.from[d]);
        fprintf(out, "%23.15E\n", cells);
    }
}

/* As written by output_header, without particles. */
static void print_header(const ramses *s, uint64_t step, FILE *out) {
    static const char *const families[] = {
        "other_tracer", "debris_tracer", "cloud_tracer", "star_tracer", "other_tracer", "gas_tracer",
        "DM",           "star",          "cloud",        "debris",      "other",        "undefined",
    };
    (void)s, (void)step;
    fprintf(out, "#%12s%10s\n", "Family", "Count");
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        fprintf(out, "%13s%10d\n", families[i], 0);
    fprintf(out, " Particle fields\npos vel mass iord level family tag \n");
}

/* As written by dump_utils with the gas. */
static void print_gas(const ramses *s, uint64_t step, FILE *out) {
    (void)step;
    fprintf(out, "# version: %2d\n# ivar, variable_name, variable_type\n", 1);
    for (int i = 0; i < s->kind->nstructures; i++)
        fprintf(out, "%2d, %s, d\n", i + 1, s->kind->structures[i].name);
}

bool ramses_text_file(const void *state, uint64_t step, int index, char *name, size_t size, FILE *out) {
    static const struct {
        const char *name;
        bool numbered;
        void (*print)(const ramses *s, uint64_t step, FILE *out);
    } files[] = {
        {"info",                  true,  print_info  },
        {"header",                true,  print_header},
        {"hydro_file_descriptor", false, print_gas   },
    };
    const ramses *s = state;
    char number[24] = "";
    if (index > 2 || (index == 2 && !s->kind->gas)) return false;
    if (files[index].numbered) snprintf(number, sizeof number, "_%05" PRIu64, step + 1);
    snprintf(name, size, "output_%05" PRIu64 "/%s%s.txt", step + 1, files[index].name, number);
    if (out) files[index].print(s, step, out);
    return true;
}
