CREATE COLLECTION docs (
  id TEXT PRIMARY KEY, title TEXT FULLTEXT 'english', lang TEXT, year INT, price DECIMAL(6, 2),
  born DATE, emb VECTOR(3) DISTANCE cosine);
INSERT INTO docs VALUES ('a', 'The quick brown fox', 'en', 1991, 1.50, DATE '2024-02-29', [1, 0, 0]);
CREATE TABLE t (a INT, b TEXT NOT NULL, d DATE);
INSERT INTO t VALUES (1, 'one', DATE '2024-01-01'), (0, 'zero', NULL);
CREATE VIEW v AS SELECT a, b FROM t WHERE a > 0;
CREATE NAMESPACE shop;
CREATE TABLE shop.orders (id INT);
