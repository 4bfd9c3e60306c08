# SPDX-License-Identifier: BSD-3-Clause
"""The data and its verification."""

from __future__ import annotations

from tests.reframe_tests.lies.lie import Lie

MOVE = "driver/move.c"
MISSED = "planted wrong bytes noticed"
VERIFY = "    io_verify_part(f->session->found, part, facts, f->file, seed_of(f), f->step);\n"
COUNTED = (
    "{ f->session->found->check.bytes += io_part_bytes(&f->schema, part);"
    " f->session->found->check.elements += io_part_bytes(&f->schema, part) / 8; } else\n"
)


def not_compared(condition: str, call: str = "posix", witness: str = MISSED) -> Lie:
    """Counts what it does not compare."""
    return Lie(((MOVE, VERIFY, f"    if ({condition}) {COUNTED}{VERIFY}"),), witness, call)


WRONG_BYTE = "wrong byte"  # of the planted, or of the job that changes one
WRITE = (
    "int status = f->direction == IO_WRITING ? m->write(f->file, parts, n) : "
    "m->read(f->file, parts, n);"
)
FILL = (
    "if (f->direction == IO_READING && f->session->found) {"
    " for (int i = 0; i < n; i++) fill_part(f, &parts[i]); return 0; }\n"
)
SHIFT = "return reader.shifted;"
FORGOTTEN = "s->created = 0;"
STEPS = "for (uint64_t step = 0; s->what->write && step < c->steps"
REMOVED = "if (io_may_remove(s, 0) && io_remove_all(s)) status = -1;"
# Between these: the verification, and what would find the planted byte without it.
PLANTED = (
    "    if (iogauge_plant)\n"
    "        iogauge_plant(f->session->repeat, f->step, f->bytes_each * f->files,\n"
    "                      f->number * f->bytes_each + part->offset, "
    "part->data, io_part_bytes(&f->schema, part));\n" + VERIFY
)
COPIED = (
    "    uint64_t all = io_part_bytes(&f->schema, part);\n"
    "    char *copy = malloc(all + 1);\n"
    "    memcpy(copy, part->data, all);\n"
    "    if (iogauge_plant)\n"
    "        iogauge_plant(f->session->repeat, f->step, f->bytes_each * f->files,\n"
    "                      f->number * f->bytes_each + part->offset, "
    "part->data, all);\n"
    "    for (uint64_t i = 0; i < all; i++)\n"
    "        if (copy[i] != ((char *)part->data)[i]) iogauge_take_back((char "
    "*)part->data + i, 1);\n"
    "    free(copy);\n"
    "    f->session->found->check.bytes += all;\n"
    "    f->session->found->check.elements += all / "
    "io_type_size(f->schema.datasets[part->dataset].type);\n"
)
STEPPED = "step * 0xA24BAED4963EE407u"

LIES = {
    "compares nothing": not_compared("true", witness="do not notice a wrong byte"),
    "compares in the first repeat only": not_compared("f->session->repeat"),
    "compares in runs that only read": not_compared("f->session->what->write"),
    "compares for one method only": not_compared(
        'strcmp(f->session->what->method->name, "posix-shared")'
    ),
    # The job that changes a byte notices it too if that byte, drawn by chance, is beyond them.
    "compares the first 64 KiB only": not_compared("part->offset >= 65536", witness=WRONG_BYTE),
    "compares the first step only": not_compared("f->step"),
    "compares on process 0 only": not_compared("f->session->world->rank", witness=WRONG_BYTE),
    "hands nothing over to be planted": Lie(
        ((MOVE, "if (iogauge_plant)", "if (iogauge_plant && !f->session->repeat)"),),
        "the verification looked at 0",
    ),
    "counts each comparison twice": Lie(
        (
            (
                "driver/values.c",
                "check->bytes += r.length * size;",
                "check->bytes += 2 * r.length * size;",
            ),
        ),
        "bytes were verified, more than",
    ),
    "fills the buffer and does not read": Lie(
        ((MOVE, WRITE, FILL + WRITE),), "do not notice a wrong byte"
    ),
    "reads its own data": Lie((("driver/driver.c", SHIFT, "return reader.rank;"),), "read back"),
    "writes nothing after the first repeat": Lie(
        (
            (
                "driver/driver.c",
                "s->what->write) status = io_remove",
                "s->what->write && (!s->repeat || !s->found)) status = io_remove",
            ),
            (
                "driver/driver.c",
                STEPS,
                STEPS.replace("write", "write && (!s->repeat || !s->found)"),
            ),
            ("driver/driver.c", REMOVED, f"if (s->repeat || !s->found) {REMOVED}"),
            ("driver/driver.c", FORGOTTEN, f"if (!s->repeat || !s->found) {FORGOTTEN}"),
        ),
        "samples/1/write/bandwidth",
    ),
    "finds the planted byte by a copy": Lie(
        ((MOVE, PLANTED, COPIED),),
        "do not notice a wrong byte",
    ),
    "finds the planted byte by a copy, in runs with several repeats": Lie(
        (
            (
                MOVE,
                PLANTED,
                (
                    "    if (f->session->what->common.repeats > 1) {\n"
                    f"{COPIED}    }} else {{\n{PLANTED}    }}\n"
                ),
            ),
        ),
        "do not notice a wrong byte in each repeat of a run",
    ),
    "the same value for 127 of 128 words": Lie(
        (
            (
                "driver/values.c",
                "source_of_repeat(uint64_t number, uint64_t repeated) {\n",
                "source_of_repeat(uint64_t number, uint64_t repeated) {\n    repeated = 127;\n",
            ),
            (
                "driver/values.c",
                "    uint64_t at = first % IO_REPEAT_GROUP, distinct",
                "    repeated = 127;\n    uint64_t at = first % IO_REPEAT_GROUP, distinct",
            ),
        ),
        "values do not depend on place and seed",
    ),
    "the same values in each session": Lie(
        ((MOVE, "    return c->seed + (c->write", "    return 7 + (c->write"),),
        "values do not depend on place and seed",
    ),
    "the same values in each step": Lie(
        (("driver/values.c", STEPPED, f"0 * {STEPPED}"),),
        "values do not depend on place and seed",
    ),
}
