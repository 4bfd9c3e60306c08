/* SPDX-License-Identifier: BSD-3-Clause */
/* --io-group: one of every N processes at a time works on its files. */
#ifndef IOGAUGE_TURNS_H
#define IOGAUGE_TURNS_H

#include "driver/session.h"

/* At most one process of a group is between these calls; a token is passed from rank to rank. Both are called
 * even after a failure, so that no process waits forever. */
int io_take_turn(const io_session *session);
int io_pass_turn(const io_session *session);

#endif
