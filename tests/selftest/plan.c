/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan: what IOGAUGE_INJECT says. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "injector.h"

enum {
    READS = 1 << INJ_READ,
    WRITES = 1 << INJ_WRITE,
    MOVES = READS | WRITES,
    EACH = (1 << INJ_CALLS) - 1,
    NO_CALL = 1 << INJ_ANY
};

const char *const inj_call_names[INJ_CALLS + 1] = {
    [INJ_OPEN] = "open",     [INJ_READ] = "read",     [INJ_WRITE] = "write",
    [INJ_FSYNC] = "fsync",   [INJ_CLOSE] = "close",   [INJ_TRUNCATE] = "truncate",
    [INJ_RENAME] = "rename", [INJ_UNLINK] = "unlink", [INJ_ANY] = "any",
};

static const struct {
    const char *name;
    inj_fault fault;
    int code;
    unsigned calls; /* of which it may be the fault */
} faults[] = {
    {"count",  INJ_COUNT,  0,      NO_CALL},
    {"flip",   INJ_FLIP,   0,      MOVES  },
    {"drop",   INJ_DROP,   0,      MOVES  },
    {"double", INJ_DOUBLE, 0,      WRITES },
    {"shift",  INJ_SHIFT,  0,      MOVES  },
    {"stale",  INJ_STALE,  0,      MOVES  },
    {"swap",   INJ_SWAP,   0,      WRITES },
    {"short",  INJ_SHORT,  0,      MOVES  },
    {"EINTR",  INJ_ERROR,  EINTR,  EACH   },
    {"EIO",    INJ_ERROR,  EIO,    EACH   },
    {"ENOSPC", INJ_ERROR,  ENOSPC, EACH   },
    {"EDQUOT", INJ_ERROR,  EDQUOT, EACH   },
    {"kill",   INJ_KILL,   0,      EACH   },
    {"stop",   INJ_STOP,   0,      EACH   },
    {"crash",  INJ_CRASH,  0,      EACH   },
    {"block",  INJ_BLOCK,  0,      EACH   },
    {"slow",   INJ_SLOW,   0,      EACH   },
    {"busy",   INJ_BUSY,   0,      EACH   },
};

__attribute__((noreturn)) static void refuse(const char *word, const char *why) {
    dprintf(STDERR_FILENO, "injector: IOGAUGE_INJECT: '%s': %s\n", word, why);
    _exit(2);
}

static void parse_what(const char *word, inj_plan *plan) {
    const char *colon = strchr(word, ':');
    if (!colon) refuse(word, "expected CALL:FAULT, such as write:flip");
    for (plan->call = 0; plan->call <= INJ_ANY; plan->call++) {
        const char *name = inj_call_names[plan->call];
        if (strlen(name) == (size_t)(colon - word) && !memcmp(name, word, strlen(name))) break;
    }
    if (plan->call > INJ_ANY) refuse(word, "no such call; expected open, read, write, fsync, close, ...");
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        if (strcmp(faults[i].name, colon + 1)) continue;
        if (!(faults[i].calls & 1u << plan->call)) refuse(word, "this call cannot have this fault");
        plan->fault = faults[i].fault;
        plan->code = faults[i].code;
        plan->name = faults[i].name;
        return;
    }
    refuse(word, "no such fault; expected flip, drop, short, EIO, kill, ...");
}

static uint64_t number_of(const char *word, const char *text) {
    char *end;
    errno = 0;
    uint64_t n = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno) refuse(word, "expected a number");
    return n;
}

static bool has_key(const char *word, const char *key, const char **value) {
    size_t n = strlen(key);
    *value = word + n + 1;
    return !strncmp(word, key, n) && word[n] == '=';
}

static void parse_key(char *word, inj_plan *plan) {
    const char *value;
    if (has_key(word, "nth", &value))
        plan->nth = number_of(word, value);
    else if (has_key(word, "every", &value))
        plan->every = number_of(word, value);
    else if (has_key(word, "stagger", &value))
        plan->stagger = number_of(word, value);
    else if (has_key(word, "ms", &value))
        plan->milliseconds = number_of(word, value);
    else if (has_key(word, "times", &value))
        plan->times = strcmp(value, "all") ? number_of(word, value) : UINT64_MAX;
    else if (has_key(word, "seed", &value))
        plan->seed = number_of(word, value);
    else if (has_key(word, "rank", &value)) {
        number_of(word, value);
        plan->rank = value;
    } else if (has_key(word, "below", &value)) {
        /* It may be made later: then it is taken as it is. */
        if (*value != '/') refuse(word, "expected an absolute path");
        if (!realpath(value, plan->below)) snprintf(plan->below, sizeof plan->below, "%s", value);
    } else if (has_key(word, "log", &value))
        snprintf(plan->log, sizeof plan->log, "%s", value);
    else
        refuse(word, "no such key; expected below, nth, every, stagger, times, rank, seed, ms, log");
}

void inj_parse(const char *text, inj_plan *plan) {
    char *words = strdup(text), *rest = words, *word; /* stays: `rank` points into it */
    *plan = (inj_plan){.nth = 1, .every = 1, .times = 1, .seed = 1, .milliseconds = 1000};
    while (words && (word = strsep(&rest, " ")))
        if (!*word)
            continue;
        else if (!plan->name)
            parse_what(word, plan);
        else
            parse_key(word, plan);
    if (!plan->name) refuse(text, "expected CALL:FAULT below=FOLDER ...");
    if (!*plan->below) refuse(text, "below=FOLDER is missing");
    if (!plan->nth || !plan->every || !plan->times) refuse(text, "nth, every and times count from 1");
    if (plan->fault == INJ_COUNT && !*plan->log) refuse(text, "log=FILE is missing");
    plan->on = true;
}
