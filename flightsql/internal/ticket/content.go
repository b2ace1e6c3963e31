package ticket

import (
	"sort"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/loamdb/loam/internal/fail"
)

// Kind says what sealed bytes are good for; one kind never passes for another.
type Kind uint8

// The kinds. The numbers are part of the format.
const (
	// Query runs SQL at a pin.
	Query Kind = 1
	// Done is the ticket of a statement that has already run: it answers nothing.
	Done Kind = 2
	// Scan reads one part of a scan plan.
	Scan Kind = 3
	// Prepared is a prepared statement's handle.
	Prepared Kind = 4
	// Bearer is a token that stands for a user and perhaps a session.
	Bearer Kind = 5
	// Rows holds the rows of a statement that has run and cannot run again: Params
	// or ParamRef is their Arrow IPC stream.
	Rows Kind = 6
)

// Content is what a ticket says. Fields that a kind does not need are empty.
type Content struct {
	Kind Kind
	// ID names the ticket, for cancellation.
	ID string
	// SQL is the statement; Params its bound rows as an Arrow IPC stream, or
	// ParamRef the place where this server keeps them because they are large.
	SQL      string
	Params   []byte
	ParamRef string
	// User and Namespace are the principal's at the time of sealing.
	User, Namespace string
	// Session is a bearer token's session.
	Session string
	// Options are session settings that differ from the defaults.
	Options map[string]string
	// Pin and Part are the engine's JSON.
	Pin, Part []byte
	// Schema is a fingerprint of the result's columns.
	Schema []byte
	// Expires is the end of validity; zero is never.
	Expires time.Time
}

// Field numbers of the sealed form.
const (
	fieldKind protowire.Number = iota + 1
	fieldID
	fieldSQL
	fieldParams
	fieldParamRef
	fieldUser
	fieldNamespace
	fieldSession
	fieldOptionName
	fieldOptionValue
	fieldPin
	fieldPart
	fieldSchema
	fieldExpires
)

func (c *Content) encode() []byte {
	var b []byte
	num := func(f protowire.Number, v uint64) {
		if v != 0 {
			b = protowire.AppendVarint(protowire.AppendTag(b, f, protowire.VarintType), v)
		}
	}
	text := func(f protowire.Number, v string) {
		if v != "" {
			b = protowire.AppendString(protowire.AppendTag(b, f, protowire.BytesType), v)
		}
	}
	num(fieldKind, uint64(c.Kind))
	text(fieldID, c.ID)
	text(fieldSQL, c.SQL)
	text(fieldParams, string(c.Params))
	text(fieldParamRef, c.ParamRef)
	text(fieldUser, c.User)
	text(fieldNamespace, c.Namespace)
	text(fieldSession, c.Session)
	names := make([]string, 0, len(c.Options))
	for name := range c.Options {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		b = protowire.AppendString(protowire.AppendTag(b, fieldOptionName, protowire.BytesType), name)
		b = protowire.AppendString(protowire.AppendTag(b, fieldOptionValue, protowire.BytesType), c.Options[name])
	}
	text(fieldPin, string(c.Pin))
	text(fieldPart, string(c.Part))
	text(fieldSchema, string(c.Schema))
	if !c.Expires.IsZero() {
		num(fieldExpires, uint64(c.Expires.UnixMilli()))
	}
	return b
}

func decode(b []byte) (*Content, error) {
	c := &Content{}
	option := ""
	for len(b) > 0 {
		field, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil, malformed()
		}
		b = b[n:]
		switch typ {
		case protowire.VarintType:
			v, n := protowire.ConsumeVarint(b)
			if n < 0 {
				return nil, malformed()
			}
			b = b[n:]
			c.setNumber(field, v)
		case protowire.BytesType:
			v, n := protowire.ConsumeBytes(b)
			if n < 0 {
				return nil, malformed()
			}
			b = b[n:]
			option = c.setBytes(field, v, option)
		default:
			return nil, malformed()
		}
	}
	return c, nil
}

func malformed() error {
	return fail.New(fail.InvalidTicket, "the ticket is sealed, but its content is malformed")
}

func (c *Content) setNumber(field protowire.Number, v uint64) {
	switch field {
	case fieldKind:
		c.Kind = Kind(min(v, 255))
	case fieldExpires:
		c.Expires = time.UnixMilli(int64(v))
	}
}

// setBytes stores one field. An option's name comes right before its value;
// the result is the name that waits for it.
func (c *Content) setBytes(field protowire.Number, v []byte, option string) string {
	switch field {
	case fieldID:
		c.ID = string(v)
	case fieldSQL:
		c.SQL = string(v)
	case fieldParams:
		c.Params = append([]byte(nil), v...)
	case fieldParamRef:
		c.ParamRef = string(v)
	case fieldUser:
		c.User = string(v)
	case fieldNamespace:
		c.Namespace = string(v)
	case fieldSession:
		c.Session = string(v)
	case fieldOptionName:
		return string(v)
	case fieldOptionValue:
		if c.Options == nil {
			c.Options = map[string]string{}
		}
		c.Options[option] = string(v)
	case fieldPin:
		c.Pin = append([]byte(nil), v...)
	case fieldPart:
		c.Part = append([]byte(nil), v...)
	case fieldSchema:
		c.Schema = append([]byte(nil), v...)
	}
	return ""
}
