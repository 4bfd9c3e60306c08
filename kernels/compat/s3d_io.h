/* SPDX-License-Identifier: BSD-3-Clause */
/* Called as s3d_io.x, iokernel takes S3D-IO's nine arguments and prints its summary.
 *
 * It reproduces the S3D-IO of 2019-07-21, the last version. Differences: values are a function of their
 * position instead of random; grids need not be divisible by the process grid; amounts are payload without
 * headers. With the same values its files are identical (docs/benchmarks.md). A restart file is read but not
 * verified, because S3D-IO's own files hold random numbers: `iokernel s3d --read-only` verifies. */
#ifndef IOGAUGE_S3D_IO_H
#define IOGAUGE_S3D_IO_H

#include "command_line/options.h"
#include "driver/world.h"

#define IO_S3D_IO_NAME "s3d_io.x"

int io_s3d_io_options(int argc, char **argv, io_run *run, io_action *action, io_error *error);
/* Reads the restart file if requested, writes the dumps, prints the summary; returns the exit status. */
int io_s3d_io_run(io_run *run, io_world *world);

#endif
