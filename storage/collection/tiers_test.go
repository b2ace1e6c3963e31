package collection

import (
	"fmt"
	"math"
	"slices"
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

// joinedOf is a segment with its fragments: "split fragment[,deleted][xfiles] …".
func joinedOf(t *testing.T, line string) Segment {
	const rows = 1000
	number := func(s string) float64 {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	words := strings.Fields(line)
	s := Segment{SplitSize: int64(number(words[0]) * (1 << 20))}
	s.Bytes = s.SplitSize
	for _, w := range words[1:] {
		w, files, many := strings.Cut(w, "x")
		mib, gone, _ := strings.Cut(w, ",")
		f := Fragment{ID: uint64(len(s.Fragments)), Rows: rows, Files: make([]DataFile, 1)}
		if many {
			f.Files = make([]DataFile, int(number(files)))
		}
		if gone != "" {
			f.Deleted = int(number(gone) * rows)
		}
		if len(f.Files) > 0 {
			f.Files[0].Size = int64(number(mib) * (1 << 20))
		}
		s.Fragments, s.Bytes = append(s.Fragments, f), s.Bytes+f.dataBytes()
		s.Rows, s.Deleted = s.Rows+f.Rows, s.Deleted+f.Deleted
	}
	return s
}

// joins says what a merge does to the fragments of the segments that it picks.
func joins(p mergePolicy, segments []Segment) string {
	var out strings.Builder
	keeps := p.keeps(segments)
	for _, i := range p.choose(segments) {
		var kept, moved string
		for k := range segments[i].Fragments {
			if keeps(&segments[i].Fragments[k]) {
				kept += fmt.Sprint(" ", k)
			} else {
				moved += fmt.Sprint(" ", k)
			}
		}
		fmt.Fprintf(&out, "%d: ", i)
		if kept != "" {
			fmt.Fprintf(&out, "keeps%s; ", kept)
		}
		if moved != "" {
			fmt.Fprintf(&out, "rewrites%s; ", moved)
		}
		fmt.Fprintf(&out, "writes %d\n", (segments[i].mergeBytes(keeps)+1<<19)>>20)
	}
	return out.String()
}

func TestTiers(t *testing.T) {
	datadriven.RunTest(t, "testdata/tiers", func(t *testing.T, d *datadriven.TestData) string {
		p := mergePolicy{maxBytes: maxMergeBytes, maxDeleted: 20}
		d.ScanArgs(t, "per-tier", &p.perTier)
		if d.Cmd == "join" {
			d.ScanArgs(t, "min", &p.minKept)
			p.minKept <<= 20
			var segments []Segment
			for line := range strings.Lines(d.Input) {
				segments = append(segments, joinedOf(t, line))
			}
			return joins(p, segments)
		}
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

// merged is a segment of what a merge of the picked ones leaves, and what it wrote.
func (p mergePolicy) merged(segments []Segment, pick []int) (out Segment, written int64) {
	keeps := p.keeps(segments)
	fresh := Fragment{Files: make([]DataFile, 1)}
	for _, i := range pick {
		s := &segments[i]
		written += s.mergeBytes(keeps)
		out.Rows, out.Bytes, out.SplitSize = out.Rows+s.Rows, out.Bytes+s.Bytes, out.SplitSize+s.SplitSize
		for _, f := range s.Fragments {
			if keeps(&f) {
				out.Fragments = append(out.Fragments, f)
			} else {
				fresh.Rows, fresh.Files[0].Size = fresh.Rows+f.Rows, fresh.Files[0].Size+f.dataBytes()
			}
		}
	}
	if fresh.Rows > 0 {
		out.Fragments = append(out.Fragments, fresh)
	}
	return out, written
}

// simulate applies segments of the sizes one after the other, of which a share (in
// hundredths) lies in Lance files, and merges whenever the policy asks for it. It returns the segments left, how often each byte was
// written on average, and the most segments that there were.
func simulate(p mergePolicy, sizes []int64, share int64) (left []Segment, amplification float64, most int) {
	in, written := int64(0), int64(0)
	for _, size := range sizes {
		s := Segment{Rows: 1, Bytes: size, SplitSize: size - size*share/100, Fragments: []Fragment{{Rows: 1}}}
		if share > 0 {
			s.Fragments[0].Files = []DataFile{{Size: size * share / 100}}
		}
		left = append(left, s)
		in, written = in+size, written+size
		for {
			pick := p.choose(left)
			if len(pick) == 0 {
				break
			}
			out, wrote := p.merged(left, pick)
			written += wrote
			for _, i := range slices.Backward(pick) {
				left = slices.Delete(left, i, i+1)
			}
			left = append(left, out)
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
		left, amplification, most := simulate(p, sizes, 0)
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
		checkFragments(t, p, sizes, total)
	})
}

// checkFragments applies the sizes with three quarters of them in Lance files: how
// often those are written does not grow with the tiers, and few fragments are small.
func checkFragments(t *rapid.T, p mergePolicy, sizes []int64, total int64) {
	const share = 75
	p.minKept, p.maxDeleted = 4<<20, 20
	left, amplification, _ := simulate(p, sizes, share)
	_, whole, _ := simulate(p, sizes, 0)
	if amplification > whole {
		t.Fatalf("each byte was written %.2f times, %.2f with all fragments rewritten", amplification, whole)
	}
	small, files := 0, int64(0)
	for _, s := range left {
		few := 0
		for _, f := range s.Fragments {
			files += f.dataBytes()
			if f.dataBytes() < p.minKept {
				few++
			}
		}
		if few > 1 {
			t.Fatalf("a segment of %d fragments has %d small ones", len(s.Fragments), few)
		}
		small += few
	}
	if small > len(left) || files > total*share/100 || files < total*share/100-int64(len(sizes)) {
		t.Fatalf("%d small fragments in %d segments; %d bytes in files of %d", small, len(left), files, total)
	}
}

// TestAmplificationOfAMillion reports the figures for a million documents in
// applies of 20,000.
func TestAmplificationOfAMillion(t *testing.T) {
	for _, perTier := range []int{2, 4, 8, 16} {
		sizes := make([]int64, 50)
		for i := range sizes {
			sizes[i] = 64 << 20
		}
		for share, most := range map[int64]float64{0: 4, 75: 1.75} {
			left, amplification, splits := simulate(mergePolicy{perTier: perTier, maxBytes: maxMergeBytes, minKept: 4 << 20, maxDeleted: 20}, sizes, share)
			t.Logf("%2d splits a tier, %d %% in Lance files: each byte written %.2f times, %d splits at the end, %d at most", perTier, share, amplification, len(left), splits)
			if amplification > most {
				t.Errorf("%d splits a tier, %d %% in Lance files: each byte was written %.2f times", perTier, share, amplification)
			}
		}
	}
}
