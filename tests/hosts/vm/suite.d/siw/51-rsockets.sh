#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Sockets over RDMA on soft iWARP, where a message is a send of its own behind its write: with the distribution's library at
# one end, either way round, and ours at both. iWARP has no datagrams.

STREAMS=1 exec "$SUITE/suite.d/51-rsockets.sh"
