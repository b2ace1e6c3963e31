package schema

import (
	"strconv"
	"strings"
	"time"

	"github.com/loamdb/loam/internal/fail"
)

// ParseDuration reads the value of an option that is a time, from 10 ms to an hour.
func ParseDuration(v string) (time.Duration, error) {
	d, err := time.ParseDuration(v)
	if err != nil || d < 10*time.Millisecond || d > time.Hour {
		return 0, fail.New(fail.InvalidParameter, "%q is not a duration from 10ms to 1h, such as '2s'", v)
	}
	return d, nil
}

var byteUnits = []struct {
	suffix string
	factor int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"", 1}}

// ParseBytes reads the value of an option that is a size: a number with an
// optional unit, such as 64MiB.
func ParseBytes(v string) (int64, error) {
	for _, u := range byteUnits {
		digits, ok := strings.CutSuffix(strings.TrimSpace(v), u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err == nil && n > 0 && n <= (1<<50)/u.factor {
			return n * u.factor, nil
		}
	}
	return 0, fail.New(fail.InvalidParameter, "%q is not a positive number, such as 1000 or '64MiB'", v)
}
