"""Runs the Python conformance checks against a running Loam server.

Environment: LOAM_URI (grpc://host:port of Flight SQL) and LOAM_HTTP
(http://host:port). See README.md.
"""

import argparse
import os
import sys

from checks import harness
from checks.env import Env


def main() -> int:
    parser = argparse.ArgumentParser(description="Python conformance checks of Loam")
    parser.add_argument("name", nargs="?", default="", help="run only checks whose name contains this")
    parser.add_argument("-v", "--verbose", action="store_true", help="print every check, and traces")
    args = parser.parse_args()
    env = Env(
        uri=os.environ.get("LOAM_URI", "grpc://127.0.0.1:8815"),
        http=os.environ.get("LOAM_HTTP", "http://127.0.0.1:8816"),
    )
    reason = env.unreachable()
    if reason:
        print(f"cannot reach the server: {reason}", file=sys.stderr)
        return 2
    harness.load()
    return harness.run(env, args.name, args.verbose)


if __name__ == "__main__":
    sys.exit(main())
