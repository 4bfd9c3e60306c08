/* SPDX-License-Identifier: BSD-3-Clause */
/* A file view as pieces of bytes. */
#ifndef RECORDER_MPI_VIEW_H
#define RECORDER_MPI_VIEW_H

#include <mpi.h>

#include "events.h"

view view_of(MPI_Offset displacement, MPI_Datatype element, MPI_Datatype type);

#endif
