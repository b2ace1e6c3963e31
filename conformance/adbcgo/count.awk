# Counts the tests of go test -v: the methods of the suites and the steps of TestLoam.
/^    --- PASS/ { passed++ }
/^    --- SKIP/ { skipped++ }
/^    --- FAIL/ { failed++; print }
/^panic:|^FAIL.*build failed/ { failed++; print }
END { printf "adbc-go: %d passed, %d failed, %d skipped\n", passed, failed, skipped }
