package flightsql

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/flightsql/internal/scan"
)

func (c *client) scanJSON(format string, args ...any) (*flight.FlightInfo, error) {
	return c.GetFlightInfo(c.ctx(), &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: fmt.Appendf(nil, format, args...)})
}

// sorted are the rows of a table by their text.
func (t *table) sorted() string {
	rows := strings.Split(t.text(), " ")
	slices.Sort(rows)
	return strings.Join(rows, " ")
}

func TestScanPlans(t *testing.T) {
	c := real(t, Options{})
	c.run("CREATE COLLECTION docs (id TEXT PRIMARY KEY, n INT)")
	for i := range 3 {
		c.run(fmt.Sprintf("INSERT INTO docs VALUES ('a%d', %d), ('b%d', %d)", i, i, i, i))
		if _, err := c.scanJSON(`{"collection":"docs","tail":"wait"}`); err != nil {
			t.Fatal(err)
		}
	}
	c.run("INSERT INTO docs VALUES ('a0', 100), ('new', 7)", "DELETE FROM docs WHERE id = 'b1'")
	want, err := c.query("SELECT _pk, _source FROM docs")
	if err != nil {
		t.Fatal(err)
	}
	for _, tail := range []string{"merge", "wait"} {
		info, err := c.scanJSON(`{"namespace":"public","collection":"docs","tail":%q,"columns":["_pk","_source"]}`, tail)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.all(info)
		if err != nil || got.sorted() != want.sorted() {
			t.Errorf("tail %s:\ngot  %s\nwant %s, %v", tail, got.sorted(), want.sorted(), err)
		}
		var plan struct {
			Plan            string
			ManifestVersion uint64 `json:"manifest_version"`
			Fragments       []struct{ ID uint64 }
		}
		if err := json.Unmarshal(info.AppMetadata, &plan); err != nil || plan.Plan == "" || len(plan.Fragments) < 3 {
			t.Errorf("app_metadata %s, %v", info.AppMetadata, err)
		}
		for i, end := range info.Endpoint {
			var m struct {
				Plan     string
				Manifest uint64
				Fragment *int64
				LiveRows int64 `json:"live_rows"`
			}
			if err := json.Unmarshal(end.AppMetadata, &m); err != nil || m.Plan != plan.Plan || m.Manifest != plan.ManifestVersion || end.ExpirationTime == nil || len(end.Location) != 0 {
				t.Errorf("endpoint %d: %v, %v", i, end, err)
			}
			part, err := c.get(end.Ticket.Ticket)
			if err != nil || m.Fragment != nil && part.rows != m.LiveRows {
				t.Errorf("endpoint %d: %+v rows, %d live, %v", i, part, m.LiveRows, err)
			}
		}
	}
}

func TestTheCommandInBothForms(t *testing.T) {
	c := real(t, Options{})
	c.run("CREATE NAMESPACE ml", "CREATE COLLECTION ml.docs (id TEXT PRIMARY KEY)", "INSERT INTO ml.docs VALUES ('x')")
	cmd, err := proto.Marshal(&anypb.Any{TypeUrl: scan.TypeURL, Value: scan.MarshalCommand(loam.ScanRequest{Target: loam.Target{Name: "docs"}, Columns: []string{"_pk"}})})
	if err != nil {
		t.Fatal(err)
	}
	d := &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: cmd}
	_, err = c.GetFlightInfo(c.ctx(), d)
	code(t, err, codes.NotFound, "in namespace public")
	ml := c.with(headerNamespace, "ml")
	info, err := ml.GetFlightInfo(ml.ctx(), d)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.all(info); err != nil || got.text() != "x" {
		t.Errorf("%+v, %v", got, err)
	}
	schema, err := ml.GetSchema(ml.ctx(), d)
	if err != nil || string(schema.Schema) != string(info.Schema) {
		t.Errorf("GetSchema differs, %v", err)
	}
	for text, want := range map[string]codes.Code{
		`{"collection":"nope"}`: codes.NotFound,
		`{"collection":"docs","namespace":"ml","columns":["nope"]}`:      codes.InvalidArgument,
		`{"collection":"docs","namespace":"ml","at":{"tag":"v1"}}`:       codes.NotFound,
		`{"collection":"docs","namespace":"ml","at":"never"}`:            codes.InvalidArgument,
		`{"collection":"docs","namespace":"ml","at":{"token":"v1:AAA"}}`: codes.InvalidArgument,
	} {
		_, err := c.scanJSON("%s", text)
		code(t, err, want, text)
	}
}
