-- SPDX-License-Identifier: GPL-2.0-only
-- Folded stacks against the views; see chrome.sql and weights.sql.
CREATE TEMP TABLE line AS
WITH RECURSIVE l(text, rest) AS (
	SELECT NULL, file FROM arg
	UNION ALL SELECT substr(rest, 1, instr(rest, char(10)) - 1), substr(rest, instr(rest, char(10)) + 1) FROM l WHERE rest <> '')
SELECT rtrim(rtrim(text, '0123456789')) AS stack, CAST(substr(text, length(rtrim(text, '0123456789')) + 1) AS INTEGER) AS ns
FROM l WHERE text IS NOT NULL;
SELECT '# stacks', count(*) FROM line;
SELECT 'a stack twice', stack, count(*) FROM line GROUP BY stack HAVING count(*) > 1;
SELECT 'weight', stack, sum(got), sum(wanted) FROM (
	SELECT stack, ns AS got, 0 AS wanted FROM line
	UNION ALL SELECT coalesce(t.name, '?') || ';' || replace(replace(w.stack, ';', ':'), char(10), ';'), 0, w.ns FROM want w JOIN thread t USING(utid))
GROUP BY stack HAVING sum(got) <> sum(wanted);
