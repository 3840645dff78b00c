/* SPDX-License-Identifier: GPL-2.0-only */
'use strict';
CW.waterfall = () => null;
CW.sequence = () => null;
