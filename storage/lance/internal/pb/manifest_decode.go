package pb

import "time"

// DecodeManifest reads a Manifest.
func DecodeManifest(buf []byte) (*Manifest, error) {
	m := &Manifest{}
	d := NewDecoder("Manifest", buf)
	for d.Next() {
		if !m.decodeContent(d) && !m.decodeAttribute(d) {
			m.Unknown = append(m.Unknown, d.Raw()...)
		}
	}
	return m, d.Err()
}

// decodeContent reads the fields that say which rows there are.
func (m *Manifest) decodeContent(d *Decoder) bool {
	switch d.Num() {
	case 1:
		f, err := DecodeField(d.Bytes())
		d.nested(err)
		m.Fields = append(m.Fields, f)
	case 2:
		f, err := DecodeFragment(d.Bytes())
		d.nested(err)
		m.Fragments = append(m.Fragments, f)
	case 3:
		m.Version = d.Uint64()
	case 9:
		m.ReaderFlags = d.Uint64()
	case 10:
		m.WriterFlags = d.Uint64()
	case 11:
		v := d.Uint32()
		m.MaxFragmentID = &v
	case 14:
		m.NextRowID = d.Uint64()
	case 15:
		f := NewDecoder("DataStorageFormat", d.Bytes())
		for f.Next() {
			switch f.Num() {
			case 1:
				m.FileFormat = f.String()
			case 2:
				m.FileVersion = f.String()
			}
		}
		d.nested(f.Err())
	case 18:
		p, err := decodeBasePath(d.Bytes())
		d.nested(err)
		m.BasePaths = append(m.BasePaths, p)
	default:
		return false
	}
	return true
}

// decodeAttribute reads the fields that describe the version.
func (m *Manifest) decodeAttribute(d *Decoder) bool {
	switch d.Num() {
	case 5:
		m.SchemaMetadata = d.mapEntry(m.SchemaMetadata)
	case 6:
		v := d.Uint64()
		m.IndexSection = &v
	case 7:
		t := NewDecoder("Timestamp", d.Bytes())
		var sec, nanos uint64
		for t.Next() {
			switch t.Num() {
			case 1:
				sec = t.Uint64()
			case 2:
				nanos = t.Uint64()
			}
		}
		d.nested(t.Err())
		m.Timestamp = time.Unix(int64(sec), int64(int32(nanos))).UTC()
	case 8:
		m.Tag = d.String()
	case 12:
		m.Transaction = d.String()
	case 13:
		d.nested(m.Writer.decode(d.Bytes()))
	case 16:
		m.Config = d.mapEntry(m.Config)
	case 19:
		m.TableMetadata = d.mapEntry(m.TableMetadata)
	case 20:
		m.Branch = d.String()
	case 21:
		v := d.Uint64()
		m.TransactionSection = &v
	default:
		return false
	}
	return true
}

func (w *WriterVersion) decode(buf []byte) error {
	d := NewDecoder("WriterVersion", buf)
	for d.Next() {
		switch d.Num() {
		case 1:
			w.Library = d.String()
		case 2:
			w.Version = d.String()
		case 3:
			w.Prerelease = d.String()
		case 4:
			w.Build = d.String()
		}
	}
	return d.Err()
}

func decodeBasePath(buf []byte) (BasePath, error) {
	var p BasePath
	d := NewDecoder("BasePath", buf)
	for d.Next() {
		switch d.Num() {
		case 1:
			p.ID = d.Uint32()
		case 2:
			p.Name = d.String()
		case 3:
			p.IsDatasetRoot = d.Bool()
		case 4:
			p.Path = d.String()
		}
	}
	return p, d.Err()
}

// DecodeFragment reads a DataFragment.
func DecodeFragment(buf []byte) (Fragment, error) {
	var f Fragment
	d := NewDecoder("DataFragment", buf)
	for d.Next() {
		switch d.Num() {
		case 1:
			f.ID = d.Uint64()
		case 2:
			file, err := decodeDataFile(d.Bytes())
			d.nested(err)
			f.Files = append(f.Files, file)
		case 3:
			del, err := decodeDeletionFile(d.Bytes())
			d.nested(err)
			f.DeletionFile = &del
		case 4:
			f.PhysicalRows = d.Uint64()
		case 5:
			f.InlineRowIDs = append([]byte{}, d.Bytes()...)
		default:
			f.Unknown = append(f.Unknown, d.Raw()...)
		}
	}
	return f, d.Err()
}

func decodeDataFile(buf []byte) (DataFile, error) {
	var f DataFile
	d := NewDecoder("DataFile", buf)
	for d.Next() {
		switch d.Num() {
		case 1:
			f.Path = d.String()
		case 2:
			f.Fields = d.Int32s(f.Fields)
		case 3:
			f.Columns = d.Int32s(f.Columns)
		case 4:
			f.Major = d.Uint32()
		case 5:
			f.Minor = d.Uint32()
		case 6:
			f.Size = d.Uint64()
		case 7:
			v := d.Uint32()
			f.BaseID = &v
		default:
			f.Unknown = append(f.Unknown, d.Raw()...)
		}
	}
	return f, d.Err()
}

func decodeDeletionFile(buf []byte) (DeletionFile, error) {
	var f DeletionFile
	d := NewDecoder("DeletionFile", buf)
	for d.Next() {
		switch d.Num() {
		case 1:
			f.Type = DeletionFileType(d.Uint32())
		case 2:
			f.ReadVersion = d.Uint64()
		case 3:
			f.ID = d.Uint64()
		case 4:
			f.DeletedRows = d.Uint64()
		case 7:
			v := d.Uint32()
			f.BaseID = &v
		}
	}
	return f, d.Err()
}
