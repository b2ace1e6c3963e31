# Counts the tests of go test -v: methods of suites, steps of a test. -v name=NAME names the line.
/^    --- PASS/ { passed++ }
/^    --- SKIP/ { skipped++ }
/^    --- FAIL/ { failed++; print }
/^panic:|^FAIL.*build failed/ { failed++; print }
# No test at all is a suite that did not build or start.
/^go: / { print }
END { if (passed + failed + skipped == 0) failed = 1; printf "%s: %d passed, %d failed, %d skipped\n", name, passed, failed, skipped }
