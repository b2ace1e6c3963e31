package pb

import "github.com/loamdb/loam/internal/fail"

// Type URLs of the messages that a file wraps in google.protobuf.Any.
const (
	ColumnEncodingURL = "/lance.encodings.ColumnEncoding"
	PageLayoutURL     = "/lance.encodings21.PageLayout"
	ArrayEncodingURL  = "/lance.encodings.ArrayEncoding"
)

// Page is one page of a column: where its buffers lie, the rows it holds, the
// first of them, and its encoding (a serialized message with its type URL).
type Page struct {
	BufferOffsets []uint64
	BufferSizes   []uint64
	Rows          uint64
	FirstRow      uint64
	TypeURL       string
	Encoding      []byte
}

// ColumnMetadata is lance.file.v2.ColumnMetadata without column buffers, which
// no version that Loam reads uses for data.
type ColumnMetadata struct {
	Pages []Page
}

func appendAny(b []byte, field int, url string, value []byte) []byte {
	any := AppendString(nil, 1, url)
	any = AppendBytes(any, 2, value)
	direct := AppendMessage(nil, 1, any)
	return AppendMessage(b, field, AppendMessage(nil, 2, direct))
}

// Append appends the message's bytes to b.
func (c *ColumnMetadata) Append(b []byte) []byte {
	b = appendAny(b, 1, ColumnEncodingURL, AppendMessage(nil, 1, nil))
	for i := range c.Pages {
		p := &c.Pages[i]
		page := AppendPacked(nil, 1, p.BufferOffsets)
		page = AppendPacked(page, 2, p.BufferSizes)
		page = AppendVarint(page, 3, p.Rows)
		page = appendAny(page, 4, p.TypeURL, p.Encoding)
		page = AppendVarint(page, 5, p.FirstRow)
		b = AppendMessage(b, 2, page)
	}
	return b
}

// DecodeColumnMetadata reads a ColumnMetadata.
func DecodeColumnMetadata(buf []byte) (ColumnMetadata, error) {
	var c ColumnMetadata
	d := NewDecoder("ColumnMetadata", buf)
	for d.Next() {
		if d.Num() == 2 {
			p, err := decodePage(d.Bytes())
			d.nested(err)
			c.Pages = append(c.Pages, p)
		}
	}
	return c, d.Err()
}

func decodePage(buf []byte) (Page, error) {
	var p Page
	d := NewDecoder("Page", buf)
	for d.Next() {
		switch d.Num() {
		case 1:
			p.BufferOffsets = d.Uint64s(p.BufferOffsets)
		case 2:
			p.BufferSizes = d.Uint64s(p.BufferSizes)
		case 3:
			p.Rows = d.Uint64()
		case 4:
			d.nested(p.decodeEncoding(d.Bytes()))
		case 5:
			p.FirstRow = d.Uint64()
		}
	}
	if d.err == nil && len(p.BufferOffsets) != len(p.BufferSizes) {
		d.failf("%d buffer offsets but %d sizes", len(p.BufferOffsets), len(p.BufferSizes))
	}
	return p, d.Err()
}

// decodeEncoding unwraps Encoding{direct{Any}}; the indirect form is unused by
// every writer and refused.
func (p *Page) decodeEncoding(buf []byte) error {
	d := NewDecoder("Encoding", buf)
	var direct []byte
	for d.Next() {
		if d.Num() != 2 {
			return fail.New(fail.Corrupt, "page encoding is stored in form %d; only the direct form is known", d.Num())
		}
		direct = d.Bytes()
	}
	if d.Err() != nil {
		return d.Err()
	}
	d = NewDecoder("DirectEncoding", direct)
	var any []byte
	for d.Next() {
		if d.Num() == 1 {
			any = d.Bytes()
		}
	}
	if d.Err() != nil {
		return d.Err()
	}
	d = NewDecoder("Any", any)
	for d.Next() {
		switch d.Num() {
		case 1:
			p.TypeURL = d.String()
		case 2:
			p.Encoding = d.Bytes()
		}
	}
	return d.Err()
}
