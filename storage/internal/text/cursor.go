package text

import "sort"

// cursor walks the postings of one source in rising order of document. It
// decodes a block's frequencies only when asked. Not safe for concurrent use.
type cursor struct {
	src     source
	doc     uint32 // current document; noDoc at the end; meaningless before the first advance
	started bool
	block   int // loaded block, -1 before the first
	i       int // index of doc in the block
	nblocks int
	freqsOf int // block whose frequencies are in buf
	buf     blockBuf
	err     error // sticky: a corrupt block ends the cursor
}

func newCursor(src source) *cursor {
	return &cursor{src: src, block: -1, freqsOf: -1, nblocks: src.blocks()}
}

// advance moves to the first document ≥ target and returns it, or noDoc.
// Moving backwards is not possible: it stays where it is.
func (c *cursor) advance(target uint32) uint32 {
	if c.started && (c.doc >= target || c.doc == noDoc) {
		return c.doc
	}
	c.started = true
	if c.block < 0 || c.buf.docs[c.buf.n-1] < target {
		if !c.seekBlock(target) {
			c.doc = noDoc
			return noDoc
		}
	}
	i, n := c.i, c.buf.n
	for i < n && c.buf.docs[i] < target {
		i++
		if i+8 < n && c.buf.docs[i+8] < target { // far ahead: halve instead of stepping
			rest := c.buf.docs[i:n]
			i += sort.Search(len(rest), func(j int) bool { return rest[j] >= target })
			break
		}
	}
	if i >= n {
		return c.pastBlock()
	}
	c.i, c.doc = i, c.buf.docs[i]
	return c.doc
}

// pastBlock ends the cursor: in the last block that is the end of the list
// (a short term does not store its last document), before it a fault.
func (c *cursor) pastBlock() uint32 {
	if c.block < c.nblocks-1 {
		return c.fail(errBlockEnd)
	}
	c.doc = noDoc
	return noDoc
}

func (c *cursor) fail(err error) uint32 {
	c.err, c.doc, c.started = err, noDoc, true
	return noDoc
}

// seekBlock loads the first block behind the current one that reaches target.
func (c *cursor) seekBlock(target uint32) bool {
	b := c.findBlock(c.block+1, target)
	if b >= c.nblocks {
		return false
	}
	return c.load(b)
}

func (c *cursor) findBlock(from int, target uint32) int {
	if from >= c.nblocks || c.src.lastDoc(from) >= target {
		return from
	}
	step := 1
	for from+step < c.nblocks && c.src.lastDoc(from+step) < target {
		from += step
		step *= 2
	}
	hi := min(from+step, c.nblocks)
	return from + 1 + sort.Search(hi-from-1, func(j int) bool { return c.src.lastDoc(from+1+j) >= target })
}

func (c *cursor) load(b int) bool {
	if err := c.src.loadDocs(b, &c.buf); err != nil {
		c.fail(err)
		return false
	}
	c.block, c.i = b, 0
	return true
}

// freq is the number of occurrences in the current document.
func (c *cursor) freq() uint32 {
	if c.freqsOf != c.block {
		c.loadFreqs()
	}
	return c.buf.freqs[c.i]
}

func (c *cursor) loadFreqs() {
	if err := c.src.loadFreqs(c.block, &c.buf); err != nil {
		c.err = err
		clear(c.buf.freqs[:])
	}
	c.freqsOf = c.block
}

// positions appends the positions in the current document.
func (c *cursor) positions(dst []uint32) []uint32 {
	c.freq()
	dst, err := c.src.positions(c.block, c.i, &c.buf, dst)
	if err != nil {
		c.err = err
	}
	return dst
}
