/* SPDX-License-Identifier: BSD-3-Clause */
/* The gas of RAMSES's test sedov3d: a point explosion of energy 1 in the middle of the box, in gas of density
 * 1. Sedov's solution for gamma = 1.4 (formulae as in Kamm and Timmes, LA-UR-07-2849: v, the lambdas, f, g,
 * h).
 *
 * A cell has the values at its center. Every machine must produce the same bits: so the profile and
 * time-dependent values are rounded to 24 bits, coordinates are integers, and the rest are products. The
 * profile is tabulated over the square of the radius, so that no cell needs a square root. */
#include <math.h>
#include <stdlib.h>

#include "patterns/ramses.h"

#define GAMMA 1.4
#define ALPHA 0.851072 /* of the energy: E = alpha rho R^5 / t^2 */
#define AMBIENT_PRESSURE 1e-5
#define BINS ((uint64_t)2048)
#define PROFILES 3 /* density, velocity over radius, pressure */

typedef double any_double __attribute__((aligned(4), may_alias));

static double rounded(double value) { return (double)(float)value; }

double ramses_time(uint64_t step) { return 0.01 * (double)(step + 1); }

double ramses_shock(uint64_t step, double *speed) {
    double time = ramses_time(step), radius = rounded(pow(time * time / ALPHA, 0.2));
    *speed = rounded(0.4 * radius / time);
    return radius;
}

/* Sedov's solution at the parameter v: radius, density, velocity and pressure, each relative to the shock. */
typedef struct {
    double radius, density, velocity, pressure;
} point;

static point solution(double v) {
    const double g = GAMMA, a2 = -(g - 1) / (2 * g + 1), a3 = 3 / (2 * g + 1);
    const double a1 = 5 * g / (2 + 3 * (g - 1)) * (6 * (2 - g) / (25 * g) - a2);
    const double a4 = 5 * a1 / (2 - g), a5 = -2 / (2 - g), b = (g + 1) / (g - 1);
    double x1 = 1.25 * (g + 1) * v, x2 = b * (2.5 * g * v - 1);
    double x3 = 5 * (g + 1) / (5 * (g + 1) - 2 * (2 + 3 * (g - 1))) * (1 - (1 + 1.5 * (g - 1)) * v);
    double x4 = b * (1 - 2.5 * v);
    double r = pow(x1, -0.4) * pow(x2, -a2) * pow(x3, -a1);
    return (point){r, pow(x2, a3) * pow(x3, a4) * pow(x4, a5), x1 * r,
                   pow(x1, 1.2) * pow(x3, a4 - 2 * a1) * pow(x4, 1 + a5)};
}

double *ramses_make_profile(void) {
    double *out = malloc(PROFILES * BINS * sizeof *out);
    double low = 2 / (5 * GAMMA), high = 4 / (5 * (GAMMA + 1));
    if (!out) return NULL;
    for (uint64_t i = 0; i < BINS; i++) {
        double at = sqrt(((double)i + 0.5) / (double)BINS), from = low, to = high;
        for (int k = 0; k < 60; k++) { /* the radius increases with v */
            double middle = 0.5 * (from + to);
            if (solution(middle).radius < at)
                from = middle;
            else
                to = middle;
        }
        point p = solution(to);
        out[i] = rounded((GAMMA + 1) / (GAMMA - 1) * p.density);
        out[BINS + i] = rounded(p.velocity / at);
        out[2 * BINS + i] = rounded(p.pressure);
    }
    return out;
}

/* Inputs of a structure's values. */
typedef struct {
    const double *profile;
    double factor, outside;
} quantity;

static quantity quantity_of(const ramses_rows *r, double unit) {
    const double *profile = r->s->profile, density = 2 / (GAMMA + 1);
    switch (r->structure) {
    case 0: return (quantity){profile, 1, 1};
    case 4: return (quantity){profile + 2 * BINS, rounded(density * r->speed * r->speed), AMBIENT_PRESSURE};
    default: return (quantity){profile + BINS, rounded(density * r->speed / r->shock) * unit, 0};
    }
}

/* Coordinates are in half cells from the middle of the box. */
void ramses_gas_row(const ramses_rows *r, const ramses_piece *piece, uint64_t y, uint64_t z, uint64_t x0,
                    uint64_t x1, void *data) {
    any_double *out = data;
    const int64_t edge = (int64_t)r->here->edge, n = (int64_t)(x1 - x0);
    const double unit = 1 / (double)(4 * edge), across_shock = r->shock / unit;
    const quantity q = quantity_of(r, unit);
    const uint64_t places[3] = {x0, y, z};
    int64_t at[3];
    (void)piece;
    for (int d = 0; d < 3; d++) at[d] = 2 * (2 * (int64_t)places[d] + (r->component >> d & 1)) + 1 - 2 * edge;
    const uint64_t end = (uint64_t)(across_shock * across_shock) + 1, scale = (BINS << 32) / end;
    const uint64_t across = (uint64_t)(at[1] * at[1] + at[2] * at[2]);
    const double along = r->structure == 2 ? (double)at[1] : r->structure == 3 ? (double)at[2] : 1;
    for (int64_t i = 0; i < n; i++) out[i] = q.outside;
    if (across >= end) return;
    for (int64_t i = 0; i < n; i++) {
        int64_t x = at[0] + 4 * i;
        uint64_t square = across + (uint64_t)(x * x);
        if (square >= end) continue;
        double value = q.profile[square * scale >> 32] * q.factor;
        out[i] = value * (r->structure == 1 ? (double)x : along);
    }
}
