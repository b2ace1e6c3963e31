package rest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"unicode/utf8"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/flightsql/internal/engine"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

const pathRecords = pathNamespace + "/streams/{c}/records"

// The most records of one answer, and how many come unless said otherwise.
const (
	maxRecords     = 10_000
	defaultRecords = 100
)

func (a *api) recordRoutes() []endpoint {
	records := &content{types: map[string]string{mediaJSON: "Records", mediaNDJSON: "", mediaJSONL: ""},
		text: "A record, an array of them, {\"records\": […]}, or a record a line. Its members are fields of the stream, and \"_partition\"; value_base64 gives a binary field value its bytes."}
	return []endpoint{
		{method: http.MethodPost, path: pathRecords, op: "appendRecords", tag: "Streams", summary: "Append records to a stream, all or none",
			params: producerParams, body: records, answers: answersJSON("Ack", "They are appended.", written...), serve: a.appendRecords},
		{method: http.MethodGet, path: pathRecords, op: "readRecords", tag: "Streams", summary: "Read records of one partition in their order",
			params: []param{
				{in: "query", name: "partition", text: "The partition, from 0; 0 by default.", schema: "Limit"},
				{in: "query", name: "offset", text: "The first offset that is wanted; the oldest by default.", schema: "Limit"},
				{in: "query", name: "limit", text: "The most records to answer, 100 by default, at most 10000.", schema: "Limit"},
			}, answers: answersJSON("RecordRun", "The records, and the offset to go on with."), serve: a.readRecords},
	}
}

// producerParams say which batch of which producer a write is.
var producerParams = []param{
	{in: "header", name: headerProducer, text: "The name of the producer: its batches are appended once, however often they are sent.", schema: "Text"},
	{in: "header", name: headerEpoch, text: "The producer's epoch, 0 by default: a greater one ends those before.", schema: "Limit"},
	{in: "header", name: headerSequence, text: "The number of the batch, from 0 in each epoch.", schema: "Limit"},
}

// Headers of producers.
const (
	headerProducer = "Loam-Producer-Id"
	headerEpoch    = "Loam-Producer-Epoch"
	headerSequence = "Loam-Producer-Sequence"
)

// appendRecords appends the records of one request, all or none.
func (a *api) appendRecords(ctx context.Context, w *answer, r *http.Request) error {
	producer, err := engine.ProducerOf(r.Header.Get, headerProducer, headerEpoch, headerSequence)
	if err != nil {
		return err
	}
	data, media, err := body(r, mediaJSON, mediaNDJSON, mediaJSONL)
	if err != nil {
		return err
	}
	docs := splitLines(data)
	if media == mediaJSON {
		if docs, err = listIn(data, "records"); err != nil {
			return err
		}
	}
	at := target(r)
	ack, err := a.session(ctx, at.Namespace).ProduceDocuments(ctx, at, producer, docs)
	if err != nil {
		return err
	}
	return writeAck(w, ack)
}

// number reads a parameter that is a whole number of 0 or more.
func number(r *http.Request, name string, absent, most uint64) (uint64, error) {
	params := r.URL.Query()
	if !params.Has(name) {
		return absent, nil
	}
	n, err := strconv.ParseUint(params.Get(name), 10, 63)
	if err != nil || n > most {
		return 0, fail.New(fail.InvalidParameter, "%s is %.40q", name, params.Get(name)).WithHint("It is a number from 0 to %d.", most)
	}
	return n, nil
}

// readRecords answers {"records": […], "next_offset": n}.
func (a *api) readRecords(ctx context.Context, w *answer, r *http.Request) error {
	at := target(r)
	obj, err := a.find(ctx, at, schema.Stream)
	if err != nil {
		return err
	}
	partition, err := number(r, "partition", 0, 1<<16)
	if err != nil {
		return err
	}
	limit, err := number(r, "limit", defaultRecords, maxRecords)
	if err != nil {
		return err
	}
	from, err := number(r, "offset", 0, 1<<62)
	if err != nil {
		return err
	}
	ask := loam.RecordRange{Partition: int(partition), From: from, Rows: int(limit), Oldest: !r.URL.Query().Has("offset")}
	run, err := a.session(ctx, at.Namespace).ReadRecords(ctx, at, ask)
	if err != nil {
		return err
	}
	out := []json.RawMessage{}
	for _, c := range run.Chunks {
		for i := range c.Rows() {
			out = append(out, recordJSON(obj, c, c.RowAt(i)))
		}
	}
	return writeValue(w, http.StatusOK, object{"records": out, "next_offset": run.Next})
}

// recordJSON writes a record behind its place and ingest time. A binary field is its JSON if it holds that, else its text, else base64
// under its name with _base64 behind.
func recordJSON(obj *schema.Object, c *vec.Chunk, row int) []byte {
	out := append([]byte(nil), `{"_ingest_partition":`...)
	out = appendCell(out, c.Cols[0], row)
	out = appendCell(append(out, `,"_ingest_offset":`...), c.Cols[1], row)
	out = appendCell(append(out, `,"_ingest_ts":`...), c.Cols[2], row)
	for i, f := range obj.Fields {
		col := c.Cols[3+i]
		out = append(out, ',')
		if f.Type.Kind != types.Binary || col.IsNull(row) {
			out = append(append(out, encode(f.Name)...), ':')
			out = appendCell(out, col, row)
			continue
		}
		text := col.Value(row).Str
		switch valid := utf8.ValidString(text); {
		case !valid:
			out = append(append(out, encode(f.Name+"_base64")...), ':')
			out = append(out, encode(base64.StdEncoding.EncodeToString([]byte(text)))...)
		case vec.ValidJSON(text) && (text[0] == '{' || text[0] == '['):
			out = append(append(out, encode(f.Name)...), ':')
			out = append(out, text...)
		default:
			out = append(append(out, encode(f.Name)...), ':')
			out = append(out, encode(text)...)
		}
	}
	return append(out, '}')
}
