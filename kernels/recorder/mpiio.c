/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI-IO: all forms of reading and writing, in a table. */
#include <fcntl.h>

#include "mpi_handles.h"
#include "mpi_messages.h"
#include "mpi_view.h"
#include "paths.h"
#include "posix.h"
#include "state.h"

#define UNKNOWN ((MPI_Offset) - 1)

/* A handle is a pointer in every MPI with MPI-IO (ROMIO and OMPIO). */
static record *file_of(MPI_File handle) {
    recorder *the = recorder_state();
    for (size_t i = the->mpi_files; i-- > 0;)
        if (the->mpi_file[i].handle == handle) return the->mpi_file[i].file;
    return NULL;
}

static void remember(MPI_File handle, record *r, int processes) {
    recorder *the = recorder_state();
    mpi_file *larger =
        memory_list(&the->memory, the->mpi_file, the->mpi_files, &the->mpi_room, sizeof *larger);
    if (!larger) {
        recorder_partial();
        return;
    }
    the->mpi_file = larger;
    larger[the->mpi_files++] = (mpi_file){handle, r, processes};
}

static mpi_file forget(MPI_File handle) {
    recorder *the = recorder_state();
    for (size_t i = the->mpi_files; i-- > 0;) {
        if (the->mpi_file[i].handle != handle) continue;
        mpi_file found = the->mpi_file[i];
        the->mpi_file[i] = the->mpi_file[--the->mpi_files];
        return found;
    }
    return (mpi_file){0};
}

EXPORT int PMPI_File_open(MPI_Comm comm, const char *path, int mode, MPI_Info info, MPI_File *handle) {
    NEXT_MPI(MPI_File_open, (MPI_Comm, const char *, int, MPI_Info, MPI_File *));
    double start = recorder_now();
    int depth = recorder_begin(__builtin_frame_address(0));
    int result = next(comm, path, mode, info, handle);
    recorder_depth = depth;
    bool made = mode & MPI_MODE_CREATE;
    posix_path(path_without_prefix(path), AT_FDCWD, !made || mode & MPI_MODE_EXCL,
               made && result == MPI_SUCCESS, start);
    if (result != MPI_SUCCESS || !recorder_on()) return result;
    double end = recorder_now();
    int processes = message_processes(comm);
    recorder_lock();
    record *r = recorder_goes_on() ? recorder_record(MODULE_MPIIO, path_without_prefix(path)) : NULL;
    if (r) {
        r->counter[processes > 1 ? MPIIO_COLL_OPENS : MPIIO_INDEP_OPENS]++;
        r->counter[MPIIO_MODE] = mode;
        if (info != MPI_INFO_NULL) r->counter[MPIIO_HINTS]++;
        record_open(r, start, end);
        remember(*handle, r, processes);
        event_add(r, EVENT_OPEN, mode, processes, start, end);
        /* As in MPI_File_close below. */
        if (processes > 1) event_message(MESSAGE_BOTH, r, start, end);
    }
    recorder_unlock();
    if (r) recorder_opened_with(info, mode, *handle);
    return result;
}
BOTH_NAMES(MPI_File_open, (MPI_Comm comm, const char *path, int mode, MPI_Info info, MPI_File *handle));

EXPORT int PMPI_File_close(MPI_File *handle) {
    NEXT_MPI(MPI_File_close, (MPI_File *));
    MPI_File old = *handle;
    double start = recorder_now();
    int depth = recorder_begin(__builtin_frame_address(0));
    int result = next(handle);
    recorder_depth = depth;
    if (!recorder_on()) return result;
    recorder_lock();
    mpi_file closed = recorder_goes_on() ? forget(old) : (mpi_file){0};
    if (closed.file) {
        double end = recorder_now();
        record_close(closed.file, start, end);
        event_add(closed.file, EVENT_CLOSE, 0, 0, start, end);
        /* MPI lets it wait for the others, and the libraries do. */
        if (closed.processes > 1) event_message(MESSAGE_BOTH, closed.file, start, end);
    }
    bool gone = closed.file && closed.file->counter[MPIIO_MODE] & MPI_MODE_DELETE_ON_CLOSE;
    recorder_unlock();
    if (gone) posix_path(closed.file->path, AT_FDCWD, false, result == MPI_SUCCESS, start);
    return result;
}
BOTH_NAMES(MPI_File_close, (MPI_File * handle));

EXPORT int PMPI_File_sync(MPI_File handle) {
    NEXT_MPI(MPI_File_sync, (MPI_File));
    double start = recorder_now();
    int depth = recorder_begin(__builtin_frame_address(0));
    int result = next(handle);
    recorder_depth = depth;
    if (result != MPI_SUCCESS || !recorder_on()) return result;
    recorder_lock();
    record *r = recorder_goes_on() ? file_of(handle) : NULL;
    if (r) {
        double end = recorder_now();
        r->counter[MPIIO_SYNCS]++;
        record_time(&r->time[F_WRITE_TIME], &r->last_end[RECORD_WRITE], start, end);
        event_add(r, EVENT_SYNC, 0, 0, start, end);
    }
    recorder_unlock();
    return result;
}
BOTH_NAMES(MPI_File_sync, (MPI_File handle));

static void viewed(MPI_File handle, MPI_Info info, int result, double start) {
    if (result != MPI_SUCCESS || !recorder_on()) return;
    recorder_lock();
    record *r = recorder_goes_on() ? file_of(handle) : NULL;
    if (r) {
        r->counter[MPIIO_VIEWS]++;
        if (info != MPI_INFO_NULL) {
            r->counter[MPIIO_HINTS]++;
            record_time(&r->time[F_META_TIME], &r->last_meta_end, start, recorder_now());
        }
    }
    recorder_unlock();
}

EXPORT int PMPI_File_set_view(MPI_File handle, MPI_Offset at, MPI_Datatype element, MPI_Datatype type,
                              const char *form, MPI_Info info) {
    NEXT_MPI(MPI_File_set_view, (MPI_File, MPI_Offset, MPI_Datatype, MPI_Datatype, const char *, MPI_Info));
    double start = recorder_now();
    int depth = recorder_begin(__builtin_frame_address(0));
    int result = next(handle, at, element, type, form, info);
    recorder_depth = depth;
    viewed(handle, info, result, start);
    if (result == MPI_SUCCESS && recorder_on()) recorder_viewed_as(form);
    if (result == MPI_SUCCESS && recorder_on() && recorder_wants_segments()) {
        view v = view_of(at, element, type);
        recorder_lock();
        event_view(recorder_goes_on() ? file_of(handle) : NULL, &v, start, recorder_now());
        recorder_unlock();
    }
    return result;
}
BOTH_NAMES(MPI_File_set_view, (MPI_File handle, MPI_Offset at, MPI_Datatype element, MPI_Datatype type,
                               const char *form, MPI_Info info));

EXPORT int PMPI_File_set_atomicity(MPI_File handle, int flag) {
    NEXT_MPI(MPI_File_set_atomicity, (MPI_File, int));
    double start = recorder_now();
    int result = next(handle, flag);
    if (result != MPI_SUCCESS || !recorder_on()) return result;
    recorder_lock();
    record *r = recorder_goes_on() ? file_of(handle) : NULL;
    if (r) event_add(r, EVENT_ATOMIC, flag, 0, start, recorder_now());
    recorder_unlock();
    return result;
}
BOTH_NAMES(MPI_File_set_atomicity, (MPI_File handle, int flag));

static int64_t bytes_of(int64_t count, MPI_Datatype type) {
    MPI_Count size = 0;
    if (count <= 0 || type == MPI_DATATYPE_NULL) return 0;
    LOOK_UP(type_size, MPI_Type_size_x, (MPI_Datatype, MPI_Count *));
    return type_size(type, &size) == MPI_SUCCESS && size > 0 ? (int64_t)size * count : 0;
}

/* The file offset of an access through a view. Open MPI 4 fails to return it for some views, and Darshan does
 * not request it. */
static int64_t place_of(MPI_File handle, MPI_Offset at) {
#ifdef OPEN_MPI
    (void)handle;
    (void)at;
    return UNKNOWN;
#else
    MPI_Offset place = UNKNOWN;
    if (at == UNKNOWN || !recorder_wants_segments()) return UNKNOWN;
    LOOK_UP(ask, MPI_File_get_byte_offset, (MPI_File, MPI_Offset, MPI_Offset *));
    return ask(handle, at, &place) == MPI_SUCCESS ? place : UNKNOWN;
#endif
}

static void moved(const char *call, int direction, int counter, MPI_File handle, MPI_Offset at, int64_t count,
                  MPI_Datatype type, int result, double start, const MPI_Request *begun) {
    if (result != MPI_SUCCESS || recorder_depth || !recorder_on()) return;
    double end = recorder_now();
    access_info a = {direction, bytes_of(count, type), place_of(handle, at), at, call, start, end};
    recorder_lock();
    record *r = recorder_goes_on() ? file_of(handle) : NULL;
    if (r) record_access(recorder_state(), r, &a, counter);
    if (r && begun) access_begun(*begun, r, direction);
    recorder_unlock();
}

static void ended(int direction, MPI_File handle, int result, double start) {
    if (result != MPI_SUCCESS || recorder_depth || !recorder_on()) return;
    double end = recorder_now();
    recorder_lock();
    event_add(recorder_goes_on() ? file_of(handle) : NULL, EVENT_WAIT, direction, 0, start, end);
    recorder_unlock();
}

/* Parts of the functions' parameter lists. */
#define READ_MEMORY void *
#define WRITE_MEMORY const void *
#define STATUS , MPI_Status *extra
#define REQUEST , MPI_Request *extra
#define EXTRA , extra

/* Where a call through the individual pointer begins. Of the shared one it is UNKNOWN: asking would take its
 * lock. */
static MPI_Offset pointer_of(MPI_File handle) {
    MPI_Offset at = UNKNOWN;
    if (recorder_depth || !recorder_on() || !recorder_wants_segments()) return UNKNOWN;
    LOOK_UP(ask, MPI_File_get_position, (MPI_File, MPI_Offset *));
    return ask(handle, &at) == MPI_SUCCESS ? at : UNKNOWN;
}

static MPI_Offset no_pointer(MPI_File handle) {
    (void)handle;
    return UNKNOWN;
}

#define WRAP(NAME, DIRECTION, COUNTER, MEMORY, COUNT, LAST, LAST_ARGUMENT, BEGUN, POINTER)                   \
    EXPORT int P##NAME(MPI_File handle, MEMORY memory, COUNT count, MPI_Datatype type LAST) {                \
        NEXT_MPI(NAME, (MPI_File, MEMORY, COUNT, MPI_Datatype LAST));                                        \
        MPI_Offset at = POINTER(handle);                                                                     \
        double start = recorder_now();                                                                       \
        int depth = recorder_begin(__builtin_frame_address(0));                                              \
        int result = next(handle, memory, count, type LAST_ARGUMENT);                                        \
        recorder_depth = depth;                                                                              \
        moved(#NAME, DIRECTION, COUNTER, handle, at, count, type, result, start, BEGUN);                     \
        return result;                                                                                       \
    }                                                                                                        \
    BOTH_NAMES(NAME, (MPI_File handle, MEMORY memory, COUNT count, MPI_Datatype type LAST));

#define WRAP_AT(NAME, DIRECTION, COUNTER, MEMORY, COUNT, LAST, LAST_ARGUMENT, BEGUN)                         \
    EXPORT int P##NAME(MPI_File handle, MPI_Offset at, MEMORY memory, COUNT count, MPI_Datatype type LAST) { \
        NEXT_MPI(NAME, (MPI_File, MPI_Offset, MEMORY, COUNT, MPI_Datatype LAST));                            \
        double start = recorder_now();                                                                       \
        int depth = recorder_begin(__builtin_frame_address(0));                                              \
        int result = next(handle, at, memory, count, type LAST_ARGUMENT);                                    \
        recorder_depth = depth;                                                                              \
        moved(#NAME, DIRECTION, COUNTER, handle, at, count, type, result, start, BEGUN);                     \
        return result;                                                                                       \
    }                                                                                                        \
    BOTH_NAMES(NAME, (MPI_File handle, MPI_Offset at, MEMORY memory, COUNT count, MPI_Datatype type LAST));

/* All forms of one direction (read or write), with counts of type COUNT and names ending in TAIL. The end of
 * a split call is not counted: its begin was; but it is a wait. */
#define FORMS(WORD, UP, COUNT, TAIL)                                                                         \
    WRAP(MPI_File_##WORD##TAIL, RECORD_##UP, MPIIO_INDEP_##UP##S, UP##_MEMORY, COUNT, STATUS, EXTRA, NULL,   \
         pointer_of)                                                                                         \
    WRAP(MPI_File_##WORD##_all##TAIL, RECORD_##UP, MPIIO_COLL_##UP##S, UP##_MEMORY, COUNT, STATUS, EXTRA,    \
         NULL, pointer_of)                                                                                   \
    WRAP(MPI_File_##WORD##_shared##TAIL, RECORD_##UP, MPIIO_INDEP_##UP##S, UP##_MEMORY, COUNT, STATUS,       \
         EXTRA, NULL, no_pointer)                                                                            \
    WRAP(MPI_File_##WORD##_ordered##TAIL, RECORD_##UP, MPIIO_COLL_##UP##S, UP##_MEMORY, COUNT, STATUS,       \
         EXTRA, NULL, no_pointer)                                                                            \
    WRAP(MPI_File_i##WORD##TAIL, RECORD_##UP, MPIIO_NB_##UP##S, UP##_MEMORY, COUNT, REQUEST, EXTRA, extra,   \
         pointer_of)                                                                                         \
    WRAP(MPI_File_i##WORD##_shared##TAIL, RECORD_##UP, MPIIO_NB_##UP##S, UP##_MEMORY, COUNT, REQUEST, EXTRA, \
         extra, no_pointer)                                                                                  \
    WRAP(MPI_File_i##WORD##_all##TAIL, RECORD_##UP, MPIIO_NB_##UP##S, UP##_MEMORY, COUNT, REQUEST, EXTRA,    \
         extra, pointer_of)                                                                                  \
    WRAP(MPI_File_##WORD##_all_begin##TAIL, RECORD_##UP, MPIIO_SPLIT_##UP##S, UP##_MEMORY, COUNT, , , NULL,  \
         pointer_of)                                                                                         \
    WRAP(MPI_File_##WORD##_ordered_begin##TAIL, RECORD_##UP, MPIIO_SPLIT_##UP##S, UP##_MEMORY, COUNT, , ,    \
         NULL, no_pointer)                                                                                   \
    WRAP_AT(MPI_File_##WORD##_at##TAIL, RECORD_##UP, MPIIO_INDEP_##UP##S, UP##_MEMORY, COUNT, STATUS, EXTRA, \
            NULL)                                                                                            \
    WRAP_AT(MPI_File_##WORD##_at_all##TAIL, RECORD_##UP, MPIIO_COLL_##UP##S, UP##_MEMORY, COUNT, STATUS,     \
            EXTRA, NULL)                                                                                     \
    WRAP_AT(MPI_File_i##WORD##_at##TAIL, RECORD_##UP, MPIIO_NB_##UP##S, UP##_MEMORY, COUNT, REQUEST, EXTRA,  \
            extra)                                                                                           \
    WRAP_AT(MPI_File_i##WORD##_at_all##TAIL, RECORD_##UP, MPIIO_NB_##UP##S, UP##_MEMORY, COUNT, REQUEST,     \
            EXTRA, extra)                                                                                    \
    WRAP_AT(MPI_File_##WORD##_at_all_begin##TAIL, RECORD_##UP, MPIIO_SPLIT_##UP##S, UP##_MEMORY, COUNT, , ,  \
            NULL)

#define END(NAME, DIRECTION, MEMORY)                                                                         \
    EXPORT int P##NAME(MPI_File handle, MEMORY memory, MPI_Status *status) {                                 \
        NEXT_MPI(NAME, (MPI_File, MEMORY, MPI_Status *));                                                    \
        double start = recorder_now();                                                                       \
        int depth = recorder_begin(__builtin_frame_address(0));                                              \
        int result = next(handle, memory, status);                                                           \
        recorder_depth = depth;                                                                              \
        ended(DIRECTION, handle, result, start);                                                             \
        return result;                                                                                       \
    }                                                                                                        \
    BOTH_NAMES(NAME, (MPI_File handle, MEMORY memory, MPI_Status * status));
#define ENDS(WORD, UP)                                                                                       \
    END(MPI_File_##WORD##_all_end, RECORD_##UP, UP##_MEMORY)                                                 \
    END(MPI_File_##WORD##_at_all_end, RECORD_##UP, UP##_MEMORY)                                              \
    END(MPI_File_##WORD##_ordered_end, RECORD_##UP, UP##_MEMORY)

ENDS(read, READ)
ENDS(write, WRITE)
FORMS(read, READ, int, )
FORMS(write, WRITE, int, )
#if MPI_VERSION >= 4
FORMS(read, READ, MPI_Count, _c)
FORMS(write, WRITE, MPI_Count, _c)
#endif
