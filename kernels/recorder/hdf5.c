/* SPDX-License-Identifier: BSD-3-Clause */
/* HDF5's calls that move data; NetCDF-4 and CGNS make these, too. No HDF5 is needed to build, and a process
 * may hold several: each caller's is called, and asked what was moved. Below 1.10 nothing is recorded. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "events.h"
#include "state.h"

#define MOST_DIMS 32 /* H5S_MAX_RANK */
#define MOST_FILTERS 32
#define MOST_SLABS 4096              /* of a selection */
#define MOST_BYTES ((size_t)1 << 25) /* of all shapes */
#define HELD 64                      /* handles */
#define SITES 64                     /* that call HDF5, of a thread */
#define NAMED 4096                   /* handles that a name opened: of others HDF5 would search the file */

typedef int64_t hid_t;
typedef uint64_t hsize_t;

enum { H5S_ALL = 0, H5E_DEFAULT = 0, H5P_DEFAULT = 0 };
enum { POINTS = 1, HYPERSLABS, ALL, REGULAR, CHUNKED = 2 }; /* H5S_sel_type, H5D_layout_t */

#define MOVE_PARAMETERS (hid_t, hid_t, hid_t, hid_t, hid_t, void *)
#define SEVERAL_PARAMETERS (size_t, hid_t *, hid_t *, hid_t *, hid_t *, hid_t, void **)

/* Functions that are always there, and below, others of some versions or builds. */
#define FUNCTIONS(X)                                                                                         \
    X(int, H5get_libversion, (unsigned *, unsigned *, unsigned *))                                           \
    X(int, H5Eauto_is_v2, (hid_t, unsigned *))                                                               \
    X(int, H5Eget_auto2, (hid_t, void **, void **))                                                          \
    X(int, H5Eset_auto2, (hid_t, void *, void *))                                                            \
    X(int, H5Eclear2, (hid_t))                                                                               \
    X(ssize_t, H5Fget_name, (hid_t, char *, size_t))                                                         \
    X(ssize_t, H5Iget_name, (hid_t, char *, size_t))                                                         \
    X(hid_t, H5Dget_space, (hid_t))                                                                          \
    X(hid_t, H5Dget_type, (hid_t))                                                                           \
    X(hid_t, H5Dget_create_plist, (hid_t))                                                                   \
    X(int, H5Tget_class, (hid_t))                                                                            \
    X(size_t, H5Tget_size, (hid_t))                                                                          \
    X(int, H5Tis_variable_str, (hid_t))                                                                      \
    X(int, H5Tclose, (hid_t))                                                                                \
    X(int, H5Pget_layout, (hid_t))                                                                           \
    X(int, H5Pget_chunk, (hid_t, int, hsize_t *))                                                            \
    X(int, H5Pget_nfilters, (hid_t))                                                                         \
    X(int, H5Pget_filter2, (hid_t, unsigned, unsigned *, size_t *, unsigned *, size_t, char *, unsigned *))  \
    X(int, H5Pclose, (hid_t))                                                                                \
    X(int, H5Sget_simple_extent_dims, (hid_t, hsize_t *, hsize_t *))                                         \
    X(int, H5Sget_select_type, (hid_t))                                                                      \
    X(int64_t, H5Sget_select_npoints, (hid_t))                                                               \
    X(int, H5Sget_select_bounds, (hid_t, hsize_t *, hsize_t *))                                              \
    X(int, H5Sis_regular_hyperslab, (hid_t))                                                                 \
    X(int, H5Sget_regular_hyperslab, (hid_t, hsize_t *, hsize_t *, hsize_t *, hsize_t *))                    \
    X(int64_t, H5Sget_select_hyper_nblocks, (hid_t))                                                         \
    X(int, H5Sget_select_hyper_blocklist, (hid_t, hsize_t, hsize_t, hsize_t *))                              \
    X(int, H5Sget_select_elem_pointlist, (hid_t, hsize_t, hsize_t, hsize_t *))                               \
    X(int, H5Sclose, (hid_t))
#define SOME(X)                                                                                              \
    X(int, H5Eget_auto1, (void **, void **))                                                                 \
    X(int, H5Eset_auto1, (void *, void *))                                                                   \
    X(int, H5Pget_dxpl_mpio, (hid_t, int *))
#define CALLED(X)                                                                                            \
    X(int, H5Dread, MOVE_PARAMETERS)                                                                         \
    X(int, H5Dwrite, MOVE_PARAMETERS)                                                                        \
    X(int, H5Dread_multi, SEVERAL_PARAMETERS)                                                                \
    X(int, H5Dwrite_multi, SEVERAL_PARAMETERS)                                                               \
    X(hid_t, H5Dopen1, (hid_t, const char *))                                                                \
    X(hid_t, H5Dopen2, (hid_t, const char *, hid_t))                                                         \
    X(hid_t, H5Dcreate1, (hid_t, const char *, hid_t, hid_t, hid_t))                                         \
    X(hid_t, H5Dcreate2, (hid_t, const char *, hid_t, hid_t, hid_t, hid_t, hid_t))                           \
    X(hid_t, H5Oopen, (hid_t, const char *, hid_t))

/* Asked of a data set at each call. */
typedef struct {
    int64_t dims[MOST_DIMS];
    char path[RECORDER_PATH], name[RECORDER_PATH];
} asked;

#define MEMBER(TYPE, NAME, PARAMETERS) TYPE(*NAME) PARAMETERS;
struct hdf5_library {
    hdf5_library *next;
    bool asks; /* what was moved */
    FUNCTIONS(MEMBER)
    SOME(MEMBER)
    CALLED(MEMBER)
    struct {
        hid_t handle;
        asked *what;
        int64_t set;
    } held[HELD];
    struct {
        hid_t handle;
        char *name;
    } named[NAMED];
};

/* Without the lock: dlsym() takes the loader's, and a thread that holds that one may wait for ours. What is
 * wrapped may be in another tool, as the program would call it. */
static hdf5_library *look_up(const void *caller, const void *its) {
    hdf5_library *h = calloc(1, sizeof *h);
    if (!h) return NULL;
    unsigned major = 0, minor = 0, release = 0;
    h->asks = true;
#define FIND(TYPE, NAME, PARAMETERS) h->NAME = (TYPE(*) PARAMETERS)recorder_beside(its, #NAME);
#define FIND_ALL(TYPE, NAME, PARAMETERS) FIND(TYPE, NAME, PARAMETERS) h->asks &= h->NAME != NULL;
    FUNCTIONS(FIND_ALL)
    SOME(FIND)
#define FIND_CALLED(TYPE, NAME, PARAMETERS) h->NAME = (TYPE(*) PARAMETERS)recorder_next_of(caller, #NAME);
    CALLED(FIND_CALLED)
    h->H5Dread = (int(*) MOVE_PARAMETERS)its;
    Dl_info library;
    if (dladdr(its, &library)) dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD); /* it stays */
    h->asks = h->asks && !h->H5get_libversion(&major, &minor, &release) && (major > 1 || minor >= 10);
    return h;
}

/* A library, and who calls it, since so many libraries were unloaded: then another one may be there. */
typedef struct {
    const void *caller;
    hdf5_library *library;
    unsigned unloaded;
} site;
static _Thread_local site sites[SITES] __attribute__((tls_model("initial-exec")));

static hdf5_library *library_of(const void *caller) {
    recorder *the = recorder_state();
    size_t i = (uintptr_t)caller / 4 % SITES;
    unsigned unloaded = atomic_load(&the->unloaded);
    if (sites[i].caller == caller && sites[i].unloaded == unloaded) return sites[i].library;
    void *its = recorder_next_of(caller, "H5Dread");
    hdf5_library *first = atomic_load(&the->hdf5), *h, *made = NULL;
    do {
        for (h = first; h && (void *)h->H5Dread != its; h = h->next) continue;
        if (!h && its && !made) made = look_up(caller, its);
        if (h || !made) break;
        made->next = first;
    } while (!atomic_compare_exchange_strong(&the->hdf5, &first, made)); /* another thread was faster */
    if (h) free(made);
    if (!h) h = made;
    sites[i] = (site){h ? caller : NULL, h, unloaded};
    return h;
}

void recorder_data_sets_begin_again(void) {
    shapes_forget();
    for (hdf5_library *h = recorder_state()->hdf5; h; h = h->next)
        for (int i = 0; i < HELD; i++) h->held[i].handle = 0; /* no handle */
}

/* While the recorder asks: the depth and errno of before, and how the program is told of HDF5's errors. */
typedef struct {
    int depth, code;
    bool hidden;
    unsigned second;
    void *function, *data;
} asking;

static bool errors_hidden(const hdf5_library *h, asking *before) {
    if (h->H5Eauto_is_v2(H5E_DEFAULT, &before->second) < 0) return false;
    if (before->second)
        return h->H5Eget_auto2(H5E_DEFAULT, &before->function, &before->data) >= 0 &&
               h->H5Eset_auto2(H5E_DEFAULT, NULL, NULL) >= 0;
    return h->H5Eget_auto1 && h->H5Eset_auto1 && h->H5Eget_auto1(&before->function, &before->data) >= 0 &&
           h->H5Eset_auto1(NULL, NULL) >= 0;
}

/* The program sees nothing of what is asked from this frame on. Ask only if `hidden`. */
static asking ask_begin(const hdf5_library *h, const void *frame) {
    asking before = {.code = errno, .second = 1};
    before.depth = recorder_begin(frame);
    recorder_depth += RECORDER_ASKS;
    before.hidden = errors_hidden(h, &before);
    return before;
}

static void ask_end(const hdf5_library *h, const asking *before) {
    if (before->hidden) {
        h->H5Eclear2(H5E_DEFAULT); /* a call that did not fail leaves none */
        if (before->second)
            h->H5Eset_auto2(H5E_DEFAULT, before->function, before->data);
        else
            h->H5Eset_auto1(before->function, before->data);
    }
    recorder_depth = before->depth;
    errno = before->code;
}

/* A new data set, or one that has changed. */
static int64_t new_set(const hdf5_library *h, hid_t handle, const asked *of, int n) {
    int64_t word[SET_WORDS + 2 * MOST_DIMS + MOST_FILTERS + RECORDER_PATH / 8] = {0}, number = -1;
    hid_t type = h->H5Dget_type(handle), list = h->H5Dget_create_plist(handle);
    int64_t *at = word + SET_WORDS + n;
    memcpy(word + SET_WORDS, of->dims, (size_t)n * sizeof *word);
    word[SET_CLASS] = h->H5Tis_variable_str(type) > 0 ? VARIABLE_LENGTH : h->H5Tget_class(type);
    word[SET_BYTES] = (int64_t)h->H5Tget_size(type);
    word[SET_DIMS] = n;
    if (h->H5Pget_layout(list) == CHUNKED) word[SET_CHUNK] = h->H5Pget_chunk(list, n, (hsize_t *)at);
    bool known = word[SET_CLASS] >= 0 && (word[SET_CHUNK] == 0 || word[SET_CHUNK] == n);
    at += known ? word[SET_CHUNK] : 0;
    int filters = h->H5Pget_nfilters(list);
    for (int i = 0; i < filters && i < MOST_FILTERS; i++, word[SET_FILTERS]++)
        *at++ =
            h->H5Pget_filter2(list, (unsigned)i, &(unsigned){0}, &(size_t){0}, NULL, 0, NULL, &(unsigned){0});
    strcpy((char *)at, of->name);
    h->H5Tclose(type);
    h->H5Pclose(list);
    recorder_lock();
    const char *path = path_without_prefix(of->path);
    const record *r = recorder_known(MODULE_MPIIO, path);
    if (!r) r = recorder_known(MODULE_POSIX, of->path); /* which knows no prefixes */
    if (r) word[SET_FILE] = (int64_t)record_id(r->path);
    if (r && known && recorder_goes_on())
        number = shape_number(word, (size_t)((char *)at - (char *)word) + strlen(of->name));
    recorder_unlock();
    return number;
}

/* The data set's number; -1: its file is not recorded, or not known. */
static int64_t set_of(hdf5_library *h, hid_t handle, asked *of, int n) {
    ssize_t path = h->H5Fget_name(handle, of->path, sizeof of->path);
    if (n < 0 || path < 1 || path >= RECORDER_PATH) return -1;
    size_t i = (size_t)handle % HELD, named = (size_t)handle % NAMED;
    snprintf(of->name, sizeof of->name, "unnamed %lld", (long long)handle); /* perhaps not yet linked */
    recorder_lock_for_access();
    if (h->named[named].handle == handle && h->named[named].name) strcpy(of->name, h->named[named].name);
    const asked *last = h->held[i].handle == handle ? h->held[i].what : NULL;
    bool same = last && !strcmp(last->name, of->name) && !strcmp(last->path, of->path) &&
                !memcmp(last->dims, of->dims, sizeof of->dims);
    int64_t number = same ? h->held[i].set : -1;
    recorder_unlock();
    if (same) return number;
    number = new_set(h, handle, of, n);
    recorder_lock_for_access();
    if (!h->held[i].what) h->held[i].what = malloc(sizeof *of);
    if (h->held[i].what) {
        h->held[i].handle = handle;
        h->held[i].set = number;
        *h->held[i].what = *of;
    }
    recorder_unlock();
    return number;
}

/* Slabs of pairs of elements (the first and the last of a block), or of points: the last first. */
static void make_slabs(int64_t *at, int64_t n, int64_t slabs, bool points) {
    for (int64_t i = slabs; i-- > 0;)
        for (int64_t d = n; d-- > 0;) {
            int64_t *slab = at + 4 * n * i + d, *from = at + (points ? 1 : 2) * n * i + d;
            int64_t first = from[0], last = points ? first : from[n];
            slab[3 * n] = last - first + 1;
            slab[2 * n] = slab[n] = 1;
            slab[0] = first;
        }
}

/* Where the elements of a selection are, and not where they were before H5Soffset_simple() moved it. */
static bool ask_slabs(const hdf5_library *h, hid_t space, int type, int64_t *at, int64_t n, int64_t slabs) {
    hsize_t *to = (hsize_t *)at, low[MOST_DIMS], high[MOST_DIMS];
    int result = -1;
    if (type == REGULAR) result = h->H5Sget_regular_hyperslab(space, to, to + n, to + 2 * n, to + 3 * n);
    if (type == HYPERSLABS) result = h->H5Sget_select_hyper_blocklist(space, 0, (hsize_t)slabs, to);
    if (type == POINTS) result = h->H5Sget_select_elem_pointlist(space, 0, (hsize_t)slabs, to);
    if (result < 0 || h->H5Sget_select_bounds(space, low, high) < 0) return false;
    if (type != REGULAR) make_slabs(at, n, slabs, type == POINTS);
    for (int64_t d = 0; d < n; d++) {
        int64_t first = at[d];
        for (int64_t i = 1; i < slabs; i++)
            if (at[4 * n * i + d] < first) first = at[4 * n * i + d];
        for (int64_t i = 0; i < slabs; i++) at[4 * n * i + d] += (int64_t)low[d] - first;
    }
    return true;
}

/* The number of a selection, in a data set of these dimensions. */
static int64_t part_of(const hdf5_library *h, hid_t space, const int64_t *dims, int n) {
    int type = h->H5Sget_select_type(space);
    int64_t elements = h->H5Sget_select_npoints(space), slabs = 1;
    if (type == HYPERSLABS && h->H5Sis_regular_hyperslab(space) > 0) type = REGULAR;
    if (type == HYPERSLABS) slabs = h->H5Sget_select_hyper_nblocks(space);
    if (type == POINTS) slabs = elements;
    if (!elements) slabs = 0;
    hsize_t extent[MOST_DIMS] = {0}; /* the program's space may have another one than the data set */
    bool known = elements >= 0 && slabs >= 0 && slabs <= MOST_SLABS &&
                 h->H5Sget_simple_extent_dims(space, extent, NULL) == n &&
                 recorder_state()->shapes.bytes < MOST_BYTES;
    for (int d = 0; d < n; d++) known = known && extent[d] <= (hsize_t)dims[d];
    size_t size = PART_WORDS + (known ? 4 * (size_t)n * (size_t)slabs : 0);
    int64_t *word = calloc(size, sizeof *word);
    if (!word) return -1;
    for (int d = 0; d < n && known && type == ALL && slabs; d++)
        for (int row = 0; row < 4; row++)
            word[PART_WORDS + n * row + d] = (int64_t[]){0, 1, 1, (int64_t)extent[d]}[row];
    known = known && (type == ALL || !slabs || ask_slabs(h, space, type, word + PART_WORDS, n, slabs));
    word[PART_ELEMENTS] = elements;
    word[PART_DIMS] = n;
    word[PART_SLABS] = known ? slabs : -1;
    recorder_lock();
    int64_t number = recorder_goes_on() ? shape_number(word, (known ? size : PART_WORDS) * sizeof *word) : -1;
    recorder_unlock();
    free(word);
    return number;
}

static void tell(hdf5_library *h, hid_t handle, hid_t space, int64_t way, double start, double end) {
    asked of;
    memset(of.dims, 0, sizeof of.dims);
    hid_t whole = h->H5Dget_space(handle);
    int n = h->H5Sget_simple_extent_dims(whole, (hsize_t *)of.dims, NULL);
    int64_t set = set_of(h, handle, &of, n);
    int64_t part = set < 0 ? -1 : part_of(h, space == H5S_ALL ? whole : space, of.dims, n);
    h->H5Sclose(whole);
    recorder_lock();
    if (part >= 0 && recorder_goes_on()) event_add(NULL, EVENT_DATA_SET, set * 4 + way, part, start, end);
    recorder_unlock();
}

/* False if nothing more would be recorded. */
static bool may_ask(const hdf5_library *h) {
    if (recorder_depth || !h->asks || !recorder_on() || !recorder_wants_segments()) return false;
    recorder_lock_for_access();
    bool full = recorder_state()->events.used >= recorder_state()->most_segments;
    if (full) recorder_partial();
    recorder_unlock();
    return !full;
}

/* After a call that did not fail. If it has several data sets, the first has its time. */
static void moved(hdf5_library *h, size_t n, const hid_t *set, const hid_t *space, hid_t list, int direction,
                  double start) {
    double end = recorder_now();
    int together = 0;
    if (!may_ask(h)) return;
    asking before = ask_begin(h, __builtin_frame_address(0));
    if (before.hidden && list != H5P_DEFAULT && h->H5Pget_dxpl_mpio) h->H5Pget_dxpl_mpio(list, &together);
    for (size_t i = 0; i < n && before.hidden; i++, start = end)
        tell(h, set[i], space[i], 2 * (together == 1) + direction, start, end);
    ask_end(h, &before);
}

/* Here HDF5 knows the name; later it might search the file, and alone in one process. */
static hid_t opened(hdf5_library *h, hid_t handle) {
    if (handle <= 0 || !may_ask(h)) return handle;
    char name[RECORDER_PATH] = "", *kept = NULL;
    asking before = ask_begin(h, __builtin_frame_address(0));
    ssize_t length = before.hidden ? h->H5Iget_name(handle, name, sizeof name) : 0;
    if (length > 0 && length < RECORDER_PATH) kept = strdup(name);
    ask_end(h, &before);
    recorder_lock_for_access();
    size_t i = (size_t)handle % NAMED;
    free(h->named[i].name);
    h->named[i].handle = handle;
    h->named[i].name = kept;
    recorder_unlock();
    return handle;
}

#define WRAP(NAME, DIRECTION)                                                                                \
    EXPORT int NAME(hid_t set, hid_t type, hid_t in_memory, hid_t space, hid_t list, void *memory) {         \
        hdf5_library *h = library_of(__builtin_return_address(0));                                           \
        if (!h || !h->NAME) return -1;                                                                       \
        double start = recorder_now();                                                                       \
        int result = h->NAME(set, type, in_memory, space, list, memory);                                     \
        if (result >= 0) moved(h, 1, &set, &space, list, DIRECTION, start);                                  \
        return result;                                                                                       \
    }
#define WRAP_SEVERAL(NAME, DIRECTION)                                                                        \
    EXPORT int NAME(size_t n, hid_t *set, hid_t *type, hid_t *in_memory, hid_t *space, hid_t list,           \
                    void **memory) {                                                                         \
        hdf5_library *h = library_of(__builtin_return_address(0));                                           \
        if (!h || !h->NAME) return -1;                                                                       \
        double start = recorder_now();                                                                       \
        int result = h->NAME(n, set, type, in_memory, space, list, memory);                                  \
        if (result >= 0) moved(h, n, set, space, list, DIRECTION, start);                                    \
        return result;                                                                                       \
    }

#define WRAP_OPENING(NAME, PARAMETERS, ARGUMENTS)                                                            \
    EXPORT hid_t NAME PARAMETERS {                                                                           \
        hdf5_library *h = library_of(__builtin_return_address(0));                                           \
        return h && h->NAME ? opened(h, h->NAME ARGUMENTS) : -1;                                             \
    }

WRAP_OPENING(H5Dopen1, (hid_t at, const char *name), (at, name))
WRAP_OPENING(H5Dopen2, (hid_t at, const char *name, hid_t list), (at, name, list))
WRAP_OPENING(H5Oopen, (hid_t at, const char *name, hid_t list), (at, name, list))
WRAP_OPENING(H5Dcreate1, (hid_t at, const char *name, hid_t type, hid_t space, hid_t list),
             (at, name, type, space, list))
WRAP_OPENING(H5Dcreate2, (hid_t at, const char *name, hid_t type, hid_t space, hid_t l, hid_t c, hid_t a),
             (at, name, type, space, l, c, a))
WRAP(H5Dread, RECORD_READ)
WRAP(H5Dwrite, RECORD_WRITE)
WRAP_SEVERAL(H5Dread_multi, RECORD_READ)
WRAP_SEVERAL(H5Dwrite_multi, RECORD_WRITE)
