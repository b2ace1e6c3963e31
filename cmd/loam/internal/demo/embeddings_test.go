package demo

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"

	"github.com/loamdb/loam/internal/fail"
)

// encode is the test's own writer of the layout, a twin of the Python script's.
// Keys of vectors are symbol ids.
func encode(vectors map[string][]float32, questions []Question) []byte {
	ids := make([]string, 0, len(vectors))
	for id := range vectors {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b string) int { return cmp.Compare(xxh3.HashString(a), xxh3.HashString(b)) })
	le := binary.LittleEndian
	out := []byte(embMagic)
	out = le.AppendUint16(out, embVersion)
	out = le.AppendUint16(out, Dim)
	out = le.AppendUint32(out, uint32(len(ids)))
	out = le.AppendUint32(out, uint32(len(questions)))
	var scales, codes []byte
	for _, id := range ids {
		out = le.AppendUint64(out, xxh3.HashString(id))
		scale, code := quantise(vectors[id])
		scales = le.AppendUint32(scales, math.Float32bits(scale))
		codes = append(codes, code...)
	}
	out = append(append(out, scales...), codes...)
	for _, q := range questions {
		out = le.AppendUint16(out, uint16(len(q.Text)))
		out = append(out, q.Text...)
		scale, code := quantise(q.Vector)
		out = append(le.AppendUint32(out, math.Float32bits(scale)), code...)
	}
	return le.AppendUint64(out, xxh3.Hash(out))
}

func quantise(v []float32) (float32, []byte) {
	top := float32(0)
	for _, x := range v {
		top = max(top, float32(math.Abs(float64(x))))
	}
	scale := top / 127
	code := make([]byte, len(v))
	for i, x := range v {
		code[i] = byte(int8(math.RoundToEven(float64(x / scale))))
	}
	return scale, code
}

// reseal sets the checksum again after a change of the body.
func reseal(file []byte) []byte {
	body := file[:len(file)-sumSize]
	return binary.LittleEndian.AppendUint64(slices.Clone(body), xxh3.Hash(body))
}

func unitVector(t *rapid.T) []float32 {
	v := make([]float32, Dim)
	sum := 0.0
	seed := rapid.SliceOfN(rapid.IntRange(-1000, 1000), 8, 8).Draw(t, "seed")
	for i := range v {
		v[i] = float32(seed[i%len(seed)]) + float32(i%17) + 1
		sum += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

func dot(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func TestEmbeddingsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := map[string][]float32{}
		for _, id := range rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z/]{1,12}\.[A-Z][a-z]{0,8}`), 0, 12, rapid.ID).Draw(t, "ids") {
			want[id] = unitVector(t)
		}
		var questions []Question
		for _, text := range rapid.SliceOfN(rapid.StringMatching(`[a-zé ]{1,30}`), 0, 4).Draw(t, "texts") {
			questions = append(questions, Question{Text: text, Vector: unitVector(t)})
		}
		e, err := decodeEmbeddings(encode(want, questions))
		if err != nil {
			t.Fatal(err)
		}
		if e.Len() != len(want) || len(e.Questions()) != len(questions) {
			t.Fatalf("%d symbols and %d questions, want %d and %d", e.Len(), len(e.Questions()), len(want), len(questions))
		}
		for id, v := range want {
			got, ok := e.Vector(id)
			if !ok || dot(got, v) < 0.999 {
				t.Fatalf("%s: found %v, cosine %g", id, ok, dot(got, v))
			}
		}
		for i, q := range e.Questions() {
			if q.Text != questions[i].Text || dot(q.Vector, questions[i].Vector) < 0.999 {
				t.Fatalf("question %d: %q, want %q", i, q.Text, questions[i].Text)
			}
		}
		if _, ok := e.Vector("no such symbol"); ok {
			t.Fatal("an unknown id has a vector")
		}
	})
}

func TestVectorIsTheCallersOwn(t *testing.T) {
	e := loadT(t)
	first, ok := e.Vector("strings.Builder.WriteString")
	if !ok {
		t.Fatal("strings.Builder.WriteString has no vector")
	}
	first[0] = 7
	second, _ := e.Vector("strings.Builder.WriteString")
	if second[0] == 7 {
		t.Fatal("a change of the returned vector reached the next caller")
	}
}

// small is a file of two symbols and one question.
func small() []byte {
	v := make([]float32, Dim)
	v[3], v[5] = 0.6, 0.8
	return encode(map[string][]float32{"a.A": v, "b.B": v}, []Question{{Text: "how", Vector: v}})
}

func TestCorruptEmbeddingsAreRefused(t *testing.T) {
	good := small()
	if _, err := decodeEmbeddings(good); err != nil {
		t.Fatalf("the sound file: %v", err)
	}
	patch := func(at int, b ...byte) []byte {
		file := slices.Clone(good)
		copy(file[at:], b)
		return reseal(file)
	}
	keys, scales := headerSize, headerSize+2*8
	codes := scales + 2*4
	questions := codes + 2*Dim
	cases := []struct {
		name, want string
		file       []byte
	}{
		{"empty", "without the magic", nil},
		{"short", "without the magic", good[:headerSize]},
		{"magic", "without the magic", patch(0, 'X')},
		{"version", "version 9 is unknown", patch(8, 9)},
		{"checksum", "checksum", append(slices.Clone(good[:len(good)-1]), good[len(good)-1]^1)},
		{"dimension", "dimension 12", patch(10, 12, 0)},
		{"symbol count", "do not fit", patch(12, 0xff, 0xff, 0xff, 0xff)},
		{"question count", "question 1 of 2 is cut off", patch(16, 2)},
		{"fewer questions", "bytes after the last question", patch(16, 0)},
		{"keys equal", "does not ascend", patch(keys+8, good[keys:keys+8]...)},
		{"scale zero", "scale 0 is out of range", patch(scales, 0, 0, 0, 0)},
		{"scale NaN", "scale NaN is out of range", patch(scales, 0, 0, 0xc0, 0x7f)},
		{"codes zero", "all codes are zero", patch(codes, make([]byte, Dim)...)},
		{"question text length", "question 0 of 1 is cut off", patch(questions, 0xff, 0xff)},
		{"question text bytes", "no valid text", patch(questions+2, 0xff)},
		{"question scale", "question vector 0", patch(questions+2+3, 0, 0, 0, 0)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			e, err := decodeEmbeddings(c.file)
			if e != nil || !fail.Is(err, fail.Corrupt) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, %v; want a corrupt file saying %q", e, err, c.want)
			}
			if !strings.Contains(err.Error(), "embeddings.bin") {
				t.Fatalf("the error does not name the file: %v", err)
			}
		})
	}
}

// A flipped bit anywhere must not pass: the checksum covers every byte before it.
func TestEveryFlippedByteIsNoticed(t *testing.T) {
	good := small()
	for at := range good {
		file := slices.Clone(good)
		file[at] ^= 0x10
		if _, err := decodeEmbeddings(file); !fail.Is(err, fail.Corrupt) {
			t.Fatalf("byte %d flipped: %v", at, err)
		}
	}
}

func FuzzDecodeEmbeddings(f *testing.F) {
	good := small()
	f.Add(good[:len(good)-sumSize])
	f.Add(good[:headerSize])
	f.Add(good[:headerSize+9])
	f.Fuzz(func(t *testing.T, body []byte) {
		file := binary.LittleEndian.AppendUint64(slices.Clone(body), xxh3.Hash(body))
		e, err := decodeEmbeddings(file)
		if err != nil {
			if !fail.Is(err, fail.Corrupt) {
				t.Fatalf("not a corrupt-file error: %v", err)
			}
			return
		}
		for i := range e.Len() {
			v := dequantise(scaleAt(e.scales, i), e.codes[i*Dim:(i+1)*Dim])
			if length := dot(v, v); math.Abs(length-1) > 1e-3 {
				t.Fatalf("vector %d has squared length %g", i, length)
			}
		}
	})
}

func loadT(t *testing.T) *Embeddings {
	t.Helper()
	e, err := LoadEmbeddings()
	if err != nil {
		t.Fatal(err)
	}
	return e
}
