/* SPDX-License-Identifier: BSD-3-Clause */
/* The static object, its lock, and the files seen so far. */
#include "recorder.h"

#include <dlfcn.h>
#include <link.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "paths.h"
#include "state.h"

_Thread_local int recorder_depth;

static recorder the;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
recorder_switches recorder_switch;

/* The library with this address. */
static const void *library_of(const void *address) {
    Dl_info found;
    return dladdr(address, &found) ? found.dli_fbase : NULL;
}

static struct link_map *all_libraries(void) {
    struct link_map *first = NULL;
    void *self = dlopen(NULL, RTLD_LAZY | RTLD_NOLOAD);
    if (self) dlinfo(self, RTLD_DI_LINKMAP, &first);
    if (self) dlclose(self);
    return first;
}

/* In a library, or one that it needs; but not in this one. */
static void *in_library(const char *path, const char *name) {
    void *handle = *path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    void *found = handle ? dlsym(handle, name) : NULL;
    if (handle) dlclose(handle);
    return found && library_of(found) != library_of(&the) ? found : NULL;
}

/* Or in a library that was loaded later, for one other library alone: Python's MPI is. */
static void *find_next(const char *name) {
    bool of_mpi = the.mpi_library && (!strncmp(name, "PMPI_", 5) || !strncmp(name, "MPI_", 4));
    if (of_mpi) return dlsym(the.mpi_library, name); /* not another MPI's */
    void *next = dlsym(RTLD_NEXT, name);
    for (struct link_map *l = next ? NULL : all_libraries(); l && !next; l = l->l_next)
        next = in_library(l->l_name, name);
    return next;
}

void *recorder_beside(const void *function, const char *name) {
    Dl_info library;
    void *handle = NULL;
    if (dladdr(function, &library)) handle = dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle) handle = dlopen(NULL, RTLD_LAZY); /* the program itself */
    void *found = handle ? dlsym(handle, name) : NULL;
    if (handle) dlclose(handle);
    return found;
}

/* The function of this name in the libraries that the caller's library, or the program itself, was linked
 * with. */
static void *called_from(const void *caller, const char *name) {
    Dl_info unused;
    struct link_map *library = NULL;
    void *found = NULL;
    const char *names = NULL;
    if (!dladdr1(caller, &unused, (void **)&library, RTLD_DL_LINKMAP)) return NULL;
    if ((found = in_library(library->l_name, name))) return found;
    for (const ElfW(Dyn) *d = library->l_ld; d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_STRTAB)
            names = (const char *)(d->d_un.d_ptr + (d->d_un.d_ptr < library->l_addr ? library->l_addr : 0));
    for (const ElfW(Dyn) *d = library->l_ld; names && d->d_tag != DT_NULL && !found; d++)
        if (d->d_tag == DT_NEEDED) found = in_library(names + d->d_un.d_val, name);
    return found;
}

void *recorder_next(const char *name) {
    void *next = find_next(name);
    /* Some libraries lack one of the two names: MPICH 5.0.2 with the standard ABI has no PMPI_File_close. */
    if (!next && *name == 'P') next = find_next(name + 1);
    if (next) return next;
    fprintf(stderr, "iogauge recorder: the library's own %s was not found\n", name);
    abort();
}

void *recorder_next_of(const void *caller, const char *name) {
    Dl_info library;
    void *global = dlsym(RTLD_NEXT, name);
    /* All callers get one that has no versions, as from the linker. */
    if (global && dlvsym(RTLD_NEXT, name, "none") == global) return global;
    void *found = dladdr(caller, &library) ? in_library(library.dli_fname, name) : NULL;
    return found ? found : find_next(name);
}

bool recorder_takes_mpi(const void *caller, const char *other, bool there) {
    Dl_info library;
    const void *own = called_from(caller, "PMPI_Init"), *init = own ? own : recorder_next("PMPI_Init");
    bool right = (recorder_beside(init, other) != NULL) == there, all = right;
    for (struct link_map *l = all_libraries(); l && all; l = l->l_next) {
        const void *some = in_library(l->l_name, "PMPI_Init");
        all = !some || (recorder_beside(some, other) != NULL) == there;
    }
    if (all || !own || !right) return all;
    if (dladdr(own, &library)) the.mpi_library = dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    return true;
}

bool recorder_wants_segments(void) { return the.most_segments > 0; }

double recorder_now(void) { return clock_now(&the.clock); }

/* In order of arrival. */
static void count_waiting(void) {
    if (!the.waits) return;
    clock_read(&the.clock);
    for (const waiting *w = the.wait; w < the.wait + the.waits; w++) {
        double start = clock_seconds(&the.clock, w->start), end = clock_seconds(&the.clock, w->end);
        record_access(&the, w->file,
                      &(access_info){w->direction, w->size, w->offset, w->at, w->call, start, end}, -1);
    }
    the.waits = 0;
}

void recorder_lock(void) {
    pthread_mutex_lock(&lock);
    count_waiting();
}

void recorder_lock_for_access(void) { pthread_mutex_lock(&lock); }

void recorder_wait(const waiting *access) {
    the.wait[the.waits++] = *access;
    if (the.waits == WAITING || access->end - the.clock.now.at > LONGEST_WAIT) count_waiting();
}

void recorder_unlock(void) { pthread_mutex_unlock(&lock); }

void recorder_partial(void) { the.partial = true; }

recorder *recorder_state(void) { return &the; }

static record *find(int module, const char *clean) {
    for (record *r = the.bucket[record_id(clean) % RECORD_BUCKETS]; r; r = r->next)
        if (r->module == module && !strcmp(r->path, clean)) return r;
    return NULL;
}

record *recorder_known(int module, const char *path) {
    char clean[RECORDER_PATH];
    return path_clean(path, clean) ? find(module, clean) : NULL;
}

/* The block size of the file system, for counting unaligned accesses. Notes if it is in memory, or NFS.
 */
static int64_t alignment_of(const char *path, bool *nfs) {
    struct statfs fs;
    char folder[RECORDER_PATH];
    if (statfs(path, &fs)) {
        snprintf(folder, sizeof folder, "%s", path);
        char *slash = strrchr(folder, '/');
        if (slash) slash[slash == folder] = 0;
        if (statfs(folder, &fs)) return -1;
    }
    if (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC) the.storage.memory = true;
    *nfs = fs.f_type == NFS_SUPER_MAGIC;
    return (int64_t)fs.f_bsize;
}

record *recorder_record(int module, const char *path) {
    char clean[RECORDER_PATH];
    if (!path_clean(path, clean)) return NULL;
    if (!path_wanted(the.include, clean)) return NULL;
    record *r = find(module, clean);
    if (r) return r;
    r = calloc(1, sizeof *r);
    char *copy = strdup(clean);
    if (!r || !copy) {
        free(r);
        free(copy);
        recorder_partial();
        return NULL;
    }
    record **bucket = &the.bucket[record_id(clean) % RECORD_BUCKETS];
    *r = (record){.next = *bucket,
                  .all = the.all,
                  .path = copy,
                  .module = module,
                  .last_io = NO_IO,
                  .kind = path_kind(copy)};
    if (module == MODULE_POSIX) {
        r->counter[POSIX_MEM_ALIGNMENT] = MEMORY_ALIGNMENT;
        r->counter[POSIX_FILE_ALIGNMENT] = alignment_of(clean, &r->nfs);
    }
    *bucket = the.all = r;
    return r;
}

void recorder_aio_add(const void *what, moment start) {
    if (the.aio_used == the.aio_room) {
        size_t room = the.aio_room ? 2 * the.aio_room : 64;
        pending *larger = realloc(the.aio, room * sizeof *larger);
        if (!larger) {
            recorder_partial();
            return;
        }
        the.aio = larger;
        the.aio_room = room;
    }
    the.aio[the.aio_used++] = (pending){what, start};
}

bool recorder_aio_take(const void *what, moment *start) {
    for (size_t i = the.aio_used; i-- > 0;) {
        if (the.aio[i].what != what) continue;
        *start = the.aio[i].start;
        the.aio[i] = the.aio[--the.aio_used];
        return true;
    }
    return false;
}
