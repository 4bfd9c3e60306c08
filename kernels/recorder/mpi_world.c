/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Init and MPI_Finalize: the rank of this process, and whether it ended normally. */
#include <stdlib.h>

#include "mpi_handles.h"
#include "state.h"

/* Handles of one MPI are addresses, of others numbers: calls cannot even be passed on. This library may have
 * loaded its own MPI, and Python then another one. */
static void refuse_other_mpi(const void *caller) {
#ifdef OPEN_MPI
    const char *mine = "Open MPI";
    bool open = true;
#else
    const char *mine = "MPICH";
    bool open = false;
#endif
    if (recorder_takes_mpi(caller, "ompi_mpi_comm_world", open)) return;
    output_say(&recorder_state()->out,
               "iogauge recorder: built for %s, which is not this program's MPI; preload the one built for "
               "that\n",
               mine);
    exit(1);
}

/* Files of a process started without MPI_Init belong to process 0 of 1. */
static void learn_process(int result) {
    int rank = 0, processes = 1;
    if (result != MPI_SUCCESS || !recorder_on()) return;
    LOOK_UP(get_rank, MPI_Comm_rank, (MPI_Comm, int *));
    LOOK_UP(get_size, MPI_Comm_size, (MPI_Comm, int *));
    if (get_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS && get_size(MPI_COMM_WORLD, &processes) == MPI_SUCCESS)
        recorder_set_process(rank, processes);
}

EXPORT int PMPI_Init(int *argc, char ***argv) {
    refuse_other_mpi(__builtin_return_address(0));
    NEXT_MPI(MPI_Init, (int *, char ***));
    int result = next(argc, argv);
    learn_process(result);
    return result;
}
BOTH_NAMES(MPI_Init, (int *argc, char ***argv));

EXPORT int PMPI_Init_thread(int *argc, char ***argv, int wanted, int *given) {
    refuse_other_mpi(__builtin_return_address(0));
    NEXT_MPI(MPI_Init_thread, (int *, char ***, int, int *));
    int result = next(argc, argv, wanted, given);
    learn_process(result);
    return result;
}
BOTH_NAMES(MPI_Init_thread, (int *argc, char ***argv, int wanted, int *given));

/* Before the library's own call, which may end the process if another one failed. */
EXPORT int PMPI_Finalize(void) {
    NEXT_MPI(MPI_Finalize, (void));
    recorder_finish(true);
    return next();
}
BOTH_NAMES(MPI_Finalize, (void));

EXPORT int PMPI_Abort(MPI_Comm comm, int code) {
    NEXT_MPI(MPI_Abort, (MPI_Comm, int));
    recorder_finish(false);
    return next(comm, code);
}
BOTH_NAMES(MPI_Abort, (MPI_Comm comm, int code));
