/* SPDX-License-Identifier: BSD-3-Clause */
/* --io-group: of so many processes one at a time handles files of its own. */
#ifndef IOGAUGE_TURNS_H
#define IOGAUGE_TURNS_H

#include "driver/session.h"

/* At most one process of each group is between these two; the token goes from rank to rank. Both are
 * called whatever has failed, so that nobody is left waiting. */
int io_take_turn(const io_session *session);
int io_pass_turn(const io_session *session);

#endif
