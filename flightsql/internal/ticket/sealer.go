package ticket

import (
	"crypto/cipher"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
)

// KeySize is the length of the secret in bytes.
const KeySize = chacha20poly1305.KeySize

// header is the magic and format version before every sealed text. It is
// authenticated with the content.
var header = []byte{'L', 'T', 0}

// Sealer seals and opens. Safe for concurrent use.
//
// The form is header (3 bytes), nonce (24), XChaCha20-Poly1305 of the content
// with the header as associated data. The long nonce makes random ones safe for
// any number of tickets under one key.
type Sealer struct {
	aead  cipher.AEAD
	clock clock.Clock
	ids   clock.IDs
}

// NewSealer makes a sealer of a secret of KeySize bytes.
func NewSealer(key []byte, c clock.Clock, ids clock.IDs) (*Sealer, error) {
	aead, err := chacha20poly1305.NewX(key)
	if err != nil {
		return nil, fail.Wrap(fail.Internal, err, "the secret for tickets")
	}
	return &Sealer{aead: aead, clock: c, ids: ids}, nil
}

// Seal encrypts a content.
func (s *Sealer) Seal(c *Content) []byte {
	plain := c.encode()
	out := make([]byte, len(header)+chacha20poly1305.NonceSizeX, len(header)+chacha20poly1305.NonceSizeX+len(plain)+chacha20poly1305.Overhead)
	copy(out, header)
	nonce := out[len(header):]
	s.ids.Fill(nonce)
	return s.aead.Seal(out, nonce, plain, header)
}

// Open decrypts sealed bytes of one of the kinds. Errors: fail.InvalidTicket for
// anything that was not sealed here whole, or for another kind;
// fail.TicketExpired.
func (s *Sealer) Open(sealed []byte, kinds ...Kind) (*Content, error) {
	if len(sealed) < len(header)+chacha20poly1305.NonceSizeX || string(sealed[:2]) != string(header[:2]) {
		return nil, fail.New(fail.InvalidTicket, "these %d bytes are no ticket of Loam", len(sealed))
	}
	if sealed[2] != header[2] {
		return nil, fail.New(fail.InvalidTicket, "the ticket has format version %d, this server reads version %d", sealed[2], header[2])
	}
	rest := sealed[len(header):]
	plain, err := s.aead.Open(nil, rest[:chacha20poly1305.NonceSizeX], rest[chacha20poly1305.NonceSizeX:], header)
	if err != nil {
		return nil, fail.New(fail.InvalidTicket, "the ticket is damaged or comes from another cluster").
			WithHint("Ask for a new one with GetFlightInfo.")
	}
	c, err := decode(plain)
	if err != nil {
		return nil, err
	}
	if !c.Expires.IsZero() && s.clock.Now().After(c.Expires) {
		return nil, fail.New(fail.TicketExpired, "the ticket expired at %s", c.Expires.UTC().Format("2006-01-02 15:04:05Z")).
			WithHint("Ask for a new one with GetFlightInfo.")
	}
	for _, k := range kinds {
		if c.Kind == k {
			return c, nil
		}
	}
	return nil, fail.New(fail.InvalidTicket, "the ticket is good for something else")
}
