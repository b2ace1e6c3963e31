package collection

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"
)

func segmentOf(t *testing.T, line string) Segment {
	const rows = 1000
	words := strings.Fields(line)
	mib, err := strconv.ParseFloat(words[0], 64)
	if err != nil {
		t.Fatal(err)
	}
	s := Segment{Rows: rows, Bytes: int64(mib * (1 << 20))}
	if len(words) > 1 {
		gone, err := strconv.ParseFloat(words[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		s.Deleted = int(gone * rows)
	}
	return s
}

func TestTiers(t *testing.T) {
	datadriven.RunTest(t, "testdata/tiers", func(t *testing.T, d *datadriven.TestData) string {
		p := mergePolicy{maxBytes: maxMergeBytes}
		d.ScanArgs(t, "per-tier", &p.perTier)
		if d.HasArg("max") {
			d.ScanArgs(t, "max", &p.maxBytes)
			p.maxBytes <<= 20
		}
		var segments []Segment
		for line := range strings.Lines(d.Input) {
			segments = append(segments, segmentOf(t, line))
		}
		pick := p.choose(segments)
		if len(pick) == 0 {
			return "none\n"
		}
		return strings.Trim(fmt.Sprint(pick), "[]") + "\n"
	})
}

// simulate applies segments of the sizes one after the other and merges whenever
// the policy asks for it. It returns the segments left, how often each byte was
// written on average, and the most segments that there were.
func simulate(p mergePolicy, sizes []int64) (left []Segment, amplification float64, most int) {
	in, written := int64(0), int64(0)
	for _, size := range sizes {
		left = append(left, Segment{Rows: 1, Bytes: size})
		in, written = in+size, written+size
		for {
			pick := p.choose(left)
			if len(pick) == 0 {
				break
			}
			var rest []Segment
			out := Segment{Rows: 1}
			at := 0
			for i, s := range left {
				if at < len(pick) && pick[at] == i {
					out.Bytes += s.Bytes
					at++
				} else {
					rest = append(rest, s)
				}
			}
			left = append(rest, out)
			written += out.Bytes
		}
		most = max(most, len(left))
	}
	return left, float64(written) / float64(in), most
}

// TestAmplification: writes and splits grow with the logarithm of the size.
func TestAmplification(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := mergePolicy{perTier: rapid.IntRange(2, 12).Draw(t, "perTier"), maxBytes: maxMergeBytes}
		typical := rapid.Int64Range(4<<10, 64<<20).Draw(t, "typical")
		sizes := make([]int64, rapid.IntRange(1, 1500).Draw(t, "applies"))
		total := int64(0)
		for i := range sizes {
			sizes[i] = rapid.Int64Range(typical/2, 2*typical).Draw(t, "size")
			total += sizes[i]
		}
		left, amplification, most := simulate(p, sizes)
		// Below the first tier a row is rewritten again and again, for all of it costs
		// little; then once a tier, until its segment is full.
		small := 1 + firstTier/float64(typical)/float64(p.perTier)
		tiers := math.Log(float64(min(total, maxMergeBytes))/float64(min(typical, total)))/math.Log(float64(p.perTier)) + 3
		full := 2*float64(total)/maxMergeBytes + 1
		if bound := 1 + small + tiers; amplification > bound {
			t.Fatalf("each byte was written %.1f times, at most %.1f are expected", amplification, bound)
		}
		if bound := full + tiers*float64(p.perTier+1); float64(most) > bound {
			t.Fatalf("%d splits, at most %.0f are expected", most, bound)
		}
		sum := int64(0)
		for _, s := range left {
			sum += s.Bytes
		}
		if sum != total {
			t.Fatalf("%d bytes are left of %d", sum, total)
		}
	})
}

// TestAmplificationOfAMillion reports the figures for a million documents in
// applies of 20,000.
func TestAmplificationOfAMillion(t *testing.T) {
	for _, perTier := range []int{2, 4, 8, 16} {
		sizes := make([]int64, 50)
		for i := range sizes {
			sizes[i] = 64 << 20
		}
		left, amplification, most := simulate(mergePolicy{perTier: perTier, maxBytes: maxMergeBytes}, sizes)
		t.Logf("%2d splits a tier: each byte written %.2f times, %d splits at the end, %d at most", perTier, amplification, len(left), most)
		if amplification > 4 {
			t.Errorf("%d splits a tier: each byte was written %.2f times", perTier, amplification)
		}
	}
}
