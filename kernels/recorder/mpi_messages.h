/* SPDX-License-Identifier: BSD-3-Clause */
/* What identifies a message on all processes: its communicator and tag; and receives in progress. */
#ifndef RECORDER_MPI_MESSAGES_H
#define RECORDER_MPI_MESSAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "mpi_handles.h"
#include "recorder.h"

/* 0: the communicator is not one of MPI_COMM_WORLD and what was duplicated or split from it. */
int64_t message_key(MPI_Comm comm, int tag);
/* The rank among all processes; -2: unknown. */
int message_process(MPI_Comm comm, int rank);
void message_communicator(MPI_Comm parent, MPI_Comm made, int result);
void message_communicator_freed(MPI_Comm comm);

void message_expect(MPI_Request request, MPI_Comm comm, int result);
/* True once for each expected one. */
bool message_take(MPI_Request request, MPI_Comm *comm);
/* Nothing is expected of these any more. */
void message_forget(int n, const MPI_Request request[]);

#endif
