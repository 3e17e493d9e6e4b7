#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Sockets over RDMA on soft iWARP, on which a message is a write and a send behind it: with the distribution's library
# at either end, and with this tree's at both. iWARP has no datagrams.

STREAMS=1 exec "$SUITE/suite.d/51-rsockets.sh"
