package engine

import (
	"strconv"
	"strings"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/snapshot"
)

// CheckTokens refuses a list of tokens, separated by commas, of which one is none.
func CheckTokens(list string) error {
	for part := range strings.SplitSeq(list, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		if _, err := snapshot.ParseToken(part); err != nil {
			return err
		}
	}
	return nil
}

// ProducerOf reads a producer's batch out of headers: its name, its epoch (0 without
// one) and its sequence. nil when no name is given.
func ProducerOf(header func(name string) string, id, epoch, sequence string) (*loam.Producer, error) {
	p := &loam.Producer{ID: header(id)}
	if p.ID == "" {
		for _, name := range []string{epoch, sequence} {
			if header(name) != "" {
				return nil, fail.New(fail.InvalidParameter, "the header %s comes without %s", name, id)
			}
		}
		return nil, nil
	}
	if header(sequence) == "" {
		return nil, fail.New(fail.InvalidParameter, "producer %.60q gives no sequence", p.ID).
			WithHint("Send the header %s: the number of the batch, from 0.", sequence)
	}
	for name, to := range map[string]*uint64{epoch: &p.Epoch, sequence: &p.Sequence} {
		text := strings.TrimSpace(header(name))
		if text == "" {
			continue
		}
		n, err := strconv.ParseUint(text, 10, 63)
		if err != nil {
			return nil, fail.New(fail.InvalidParameter, "header %s is %.40q; it is a number from 0", name, text)
		}
		*to = n
	}
	return p, nil
}
