/* SPDX-License-Identifier: BSD-3-Clause */
/* The open files of a process of the log, and the seconds of its calls. */
#include "base/clock.h"
#include "driver/latency.h"
#include "driver/replay_parts.h"

io_opened *io_replay_find(io_logged *l, uint64_t file) {
    for (uint64_t i = 0; i < l->nopened; i++)
        if (l->opened[i].file == file) return &l->opened[i];
    return NULL;
}

double io_replay_add_time(io_replaying *r, io_phase phase, double began) {
    double seconds = io_monotonic_seconds() - began;
    r->seconds.phase[phase] += seconds;
    r->spent[r->phase][io_phases[phase].direction] += seconds;
    r->calls[io_phases[phase].direction]++;
    return seconds;
}

/* A call that moved data. */
void io_replay_add_move(io_replaying *r, bool writing, double began) {
    io_phase phase = writing ? IO_PHASE_WRITE : IO_PHASE_READ;
    double seconds = io_replay_add_time(r, phase, began);
    if (r->session->latency) io_latency_add(r->session->latency, io_phases[phase].direction, seconds);
}
