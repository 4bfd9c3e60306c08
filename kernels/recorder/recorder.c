/* SPDX-License-Identifier: BSD-3-Clause */
/* The static object, its lock, and the files seen so far. */
#include "recorder.h"

#include <dlfcn.h>
#include <errno.h>
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

_Thread_local int recorder_depth, recorder_holds;
/* The name of the outermost call. */
static _Thread_local const char *outermost;

#define MOST_LIBRARIES 512

static recorder the;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
recorder_switches recorder_switch;

static int let_go(void *library) {
    static int (*next)(void *);
    if (!next) next = (int (*)(void *))dlsym(RTLD_NEXT, "dlclose");
    return next(library);
}

/* Then another library may come to the same place. */
EXPORT int dlclose(void *library) {
    int result = let_go(library);
    atomic_fetch_add(&the.unloaded, 1);
    return result;
}

/* The library with this address. */
static const struct link_map *library_of(const void *address) {
    Dl_info unused;
    struct link_map *found = NULL;
    return dladdr1(address, &unused, (void **)&found, RTLD_DL_LINKMAP) ? found : NULL;
}

/* The first is the program. */
static struct link_map *all_libraries(void) {
    struct link_map *first = NULL;
    void *self = dlopen(NULL, RTLD_LAZY | RTLD_NOLOAD);
    if (self) dlinfo(self, RTLD_DI_LINKMAP, &first);
    if (self) let_go(self);
    return first;
}

/* In a library, or one that it needs; but not in this one. */
static void *in_library(const char *path, const char *name) {
    void *handle = *path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    void *found = handle ? dlsym(handle, name) : NULL;
    if (handle) let_go(handle);
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
    if (handle) let_go(handle);
    return found;
}

/* Adds the libraries that one was linked with to `all`; how many these are then. */
static int add_needed(const struct link_map *of, const struct link_map *all[MOST_LIBRARIES], int n) {
    const char *names = NULL;
    for (const ElfW(Dyn) *d = of->l_ld; d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_STRTAB)
            names = (const char *)(d->d_un.d_ptr + (d->d_un.d_ptr < of->l_addr ? of->l_addr : 0));
    for (const ElfW(Dyn) *d = of->l_ld; names && d->d_tag != DT_NULL && n < MOST_LIBRARIES; d++) {
        void *handle = d->d_tag == DT_NEEDED ? dlopen(names + d->d_un.d_val, RTLD_LAZY | RTLD_NOLOAD) : NULL;
        int i = 0;
        if (!handle || dlinfo(handle, RTLD_DI_LINKMAP, &all[n])) continue;
        let_go(handle);
        while (all[i] != all[n]) i++;
        n += i == n;
    }
    return n;
}

/* The function of this name that code linked like `from`, the program or a library, would call: breadth
 * first, as the linker does. */
static void *called_by(const struct link_map *from, const char *name) {
    const struct link_map *all[MOST_LIBRARIES] = {from};
    for (int i = 0, n = !!from; i < n; i++) {
        void *found = in_library(all[i]->l_name, name);
        if (found && library_of(found) == all[i]) return found;
        n = add_needed(all[i], all, n);
    }
    return NULL;
}

void *recorder_next(const char *name) {
    void *next = find_next(name);
    /* Some libraries lack one of the two names: MPICH 5.0.2 with the standard ABI has no PMPI_File_close. */
    if (!next && *name == 'P') next = find_next(name + 1);
    if (next) return next;
    output_say(&the.out, "iogauge recorder: the library's own %s was not found\n", name);
    abort();
}

static long not_there(void) {
    errno = ENOSYS;
    return -1;
}

void *recorder_next_or(const char *name, void *otherwise) {
    void *next = find_next(name);
    if (next) return next;
    return otherwise ? otherwise : (void *)not_there;
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
    const void *own = called_by(all_libraries(), "PMPI_Init");
    if (!own) own = called_by(library_of(caller), "PMPI_Init");
    const void *init = own ? own : recorder_next("PMPI_Init");
    bool right = (recorder_beside(init, other) != NULL) == there, all = right;
    for (struct link_map *l = all_libraries(); l && all; l = l->l_next) {
        const void *some = in_library(l->l_name, "PMPI_Init");
        all = !some || (recorder_beside(some, other) != NULL) == there;
    }
    bool sure = own || !called_by(library_of(&the), "PMPI_Init"); /* the next one may be this library's */
    if (all || !sure || !right) return all;
    if (dladdr(init, &library)) the.mpi_library = dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
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

void recorder_lock_for_access(void) {
    if (!recorder_holds++) pthread_mutex_lock(&lock);
}

void recorder_lock(void) {
    recorder_lock_for_access();
    if (recorder_holds == 1) count_waiting();
}

void recorder_wait(const waiting *access) {
    the.wait[the.waits++] = *access;
    if (the.waits == WAITING || access->end - the.clock.now.at > LONGEST_WAIT) count_waiting();
}

void recorder_unlock(void) {
    if (recorder_holds == 1) pthread_mutex_unlock(&lock);
    recorder_holds--;
}

int recorder_begin(const void *frame) {
    if ((const char *)frame >= outermost) recorder_depth = 0;
    if (!recorder_depth) outermost = frame;
    return recorder_depth++;
}

void recorder_partial(void) { the.partial = true; }

recorder *recorder_state(void) { return &the; }

static record *find(int module, const char *clean) {
    for (record *r = the.bucket[record_id(clean) % RECORD_BUCKETS]; r; r = r->next)
        if (r->module == module && !strcmp(r->path, clean)) return r;
    return NULL;
}

record *recorder_known(int module, const char *path) {
    char clean[RECORDER_PATH];
    return path_wanted(the.include, path, clean) ? find(module, clean) : NULL;
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
    if (!path_wanted(the.include, path, clean)) return NULL;
    record *r = find(module, clean);
    if (r) return r;
    r = memory_larger(&the.memory, NULL, 0, sizeof *r);
    char *copy = memory_larger(&the.memory, NULL, 0, strlen(clean) + 1);
    if (!r || !copy) {
        recorder_partial();
        return NULL;
    }
    strcpy(copy, clean);
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
    pending *larger = memory_list(&the.memory, the.aio, the.aio_used, &the.aio_room, sizeof *larger);
    if (!larger) {
        recorder_partial();
        return;
    }
    the.aio = larger;
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
