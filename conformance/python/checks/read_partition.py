"""The second process of the partition checks: redeems one partition.

The server's address is the argument, the partition's bytes come on standard
input, the rows go to standard output as an Arrow stream.
"""

import sys
from typing import Any

import pyarrow as pa
from adbc_driver_flightsql import dbapi


def main() -> None:
    partition = sys.stdin.buffer.read()
    stdout: Any = sys.stdout.buffer
    with dbapi.connect(sys.argv[1], autocommit=True) as conn, conn.cursor() as cur:
        cur.adbc_read_partition(partition)
        with cur.fetch_record_batch() as reader, pa.ipc.new_stream(stdout, reader.schema) as out:
            for batch in reader:
                out.write_batch(batch)


if __name__ == "__main__":
    main()
