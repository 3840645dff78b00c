-- SPDX-License-Identifier: GPL-2.0-only
-- Indexes. Import creates everything up to the first of them before the rows, these after.
CREATE INDEX episode_by_thread ON episode(utid, ts);
CREATE INDEX ran_later_by_episode ON ran_later(offcpu_id);
