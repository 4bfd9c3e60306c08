/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of the recorder; the only instance is in recorder.c. */
#ifndef RECORDER_STATE_H
#define RECORDER_STATE_H

#include <time.h>

#include "events.h"
#include "memory.h"
#include "output.h"
#include "recorder.h"

#define RECORD_BUCKETS 4096
#define DESCRIPTORS 65536
#define COMMUNICATORS 256
#define EXPECTED 4096                  /* receives in progress, and accesses */
#define WAITING 64                     /* queued accesses */
#define DURATIONS 768                  /* bins of calls' durations, see durations.c */
#define LONGEST_WAIT ((moment)1 << 28) /* about a tenth of a second: the clock's rate may change */

/* An open file description: one offset, however many descriptors (dup) and processes (fork) share it. */
typedef struct description {
    struct description *spare; /* the next that is not in use */
    record *file;
    int64_t offset;
    int descriptors;
    bool reads;                 /* what it reads from storage is counted */
    bool append, wrote, stream; /* stream: without places, such as a named pipe */
    bool locked, flocked;       /* a range, and by flock(): what its last close ends */
    bool below;                 /* opened inside a call of MPI-IO */
    int forks;                  /* number of forks when the offset was last known */
} description;

typedef struct {
    const void *what;
    moment start;
} pending;

/* The file of an open MPI file handle. */
typedef struct {
    const void *handle;
    record *file;
    int processes;
} mpi_file;

/* A communicator: an identity that all of its processes give it, and how many were made from it. */
typedef struct {
    uintptr_t handle;
    uint64_t identity, made;
} communicator;

/* A receive in progress: what it may receive (as the program said it), and how many began before it. */
typedef struct {
    uintptr_t request, communicator;
    int from, tag;
    uint64_t number;
} expected_message;

/* A nonblocking access in progress. */
typedef struct {
    uintptr_t request;
    const record *file;
    int direction;
    uint32_t sequence; /* of the access */
} awaited;

/* Counts of a repeat: bytes handed over for planting, wrong bytes planted, and those noticed. */
typedef struct {
    uint64_t bytes, planted, noticed;
} planting;

/* A hint of MPI-IO, and in how many opens. */
typedef enum {
    HINT_GIVEN_READ,
    HINT_GIVEN_WRITE,
    HINT_USED_READ,
    HINT_USED_WRITE,
    HINT_VIEW,
    HINT_KINDS
} hint_kind;
typedef struct {
    hint_kind kind;
    char *key, *value;
    uint64_t opens;
} hint;

/* Bytes read from storage by kind of file. `open`, `reading`: descriptions of each kind, and those being
 * read; `before`: the count when the first of these was, if known; `looks`: how often it was asked for. */
typedef struct {
    bool used, memory, known; /* memory: a file is on a file system in memory */
    int slowed, full;         /* files beside the run opened to be slow; made where there was one */
    storage_kind last;        /* opened */
    int open[STORAGE_KINDS], reading[STORAGE_KINDS], looks;
    uint64_t before, bytes[STORAGE_KINDS], messages;
    int64_t peak; /* of memory, when the last reading began */
} storage_use;

typedef struct hdf5_library hdf5_library;

typedef struct {
    char *folder;
    path_included *include;
    int rank, processes;
    char for_programs[64]; /* a variable of the environment */
    pid_t pid;
    bool mpi, forked, complete;
    atomic_bool partial;
    void *mpi_library; /* the program's, if others are loaded, too */
    io_clock clock;
    int64_t unix_offset;            /* see clock_unix_offset */
    size_t most_segments, segments; /* most: 0 if accesses are only counted */
    uint32_t sequence;              /* numbers accesses and events */
    event_list events;
    view_list views;
    shape_list shapes;
    hdf5_library *_Atomic hdf5; /* see hdf5.c */
    atomic_uint unloaded;       /* libraries, by the program */
    int shared_offsets;         /* how often this process was forked */
    record *bucket[RECORD_BUCKETS], *all;
    heatmap heat[MODULES];
    waiting wait[WAITING];
    int waits;
    description *descriptor[DESCRIPTORS];
    description *spare;
    mpi_file *mpi_file; /* open ones */
    size_t mpi_files, mpi_room;
    communicator communicator[COMMUNICATORS];
    expected_message expected[EXPECTED];
    awaited awaited[EXPECTED];
    int communicators, expecting, awaiting;
    uint64_t expected_ever;
    pending *aio;
    size_t aio_used, aio_room;
    planting *planting;
    uint64_t plantings, in_repeat;
    char *planted, right; /* the wrong byte not noticed yet, and its right value */
    hint *hint;
    size_t hints;
    bool hints_looked[DIRECTIONS]; /* at those in force */
    storage_use storage;
    int64_t folders, entries;
    double operation_seconds[OPERATIONS], folder_seconds;
    uint64_t duration[MODULES][DIRECTIONS][DURATIONS]; /* of calls on the run's own files */
    atomic_bool unread[DESCRIPTORS];                   /* nothing was read through it yet */
    memory_store memory;
    output out;
} recorder;

/* With the lock held. */
recorder *recorder_state(void);
/* Asynchronous accesses in progress; `take` returns the start time, once. */
void recorder_aio_add(const void *what, moment start);
bool recorder_aio_take(const void *what, moment *start);

/* record.c, with the lock held. */
void record_clear(record *r);
/* Counts an access (in `counter` too, unless negative). */
void record_access(recorder *the, record *r, const access_info *access, int counter);

/* planted.c */
void recorder_write_planted(recorder *the);
/* With the lock held: a file to which data was written is closed. */
void recorder_flip(record *file);

/* hints.c; see mpi_handles.h */
void recorder_write_hints(recorder *the);

/* durations.c. With the lock held: a call on one of the run's own files took so long. */
void recorder_duration(recorder *the, int module, int direction, double seconds);
void recorder_write_durations(recorder *the);

/* storage.c. With the lock held: a file was opened, is about to be read for the first time, is closed. */
void recorder_storage_opened(description *d, int flags, bool full);
void recorder_storage_reads(description *d);
void recorder_storage_closed(description *d);
/* A message was sent or received. */
void recorder_storage_message(void);
void recorder_write_storage(recorder *the);

/* operations.c. With the lock held: a call on a file's path has succeeded. Without: a folder was closed. */
void recorder_operation(record *r, int operation, double seconds);
void recorder_folder_closed(const void *folder);
void recorder_write_operations(recorder *the);

/* recording.c */
void recorder_end_now(void);

/* hdf5.c: a forked child begins again, without its parent's data sets. */
void recorder_data_sets_begin_again(void);

#endif
