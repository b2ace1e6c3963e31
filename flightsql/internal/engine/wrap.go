package engine

import (
	"context"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/catalog"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// Wrap serves a real engine.
func Wrap(e *loam.Engine) Engine { return wrapped{e} }

type wrapped struct{ *loam.Engine }

func (w wrapped) Catalog() catalog.Reader { return w.Engine.Catalog() }

func (w wrapped) NewSession(user, namespace string) Session {
	return session{w.Engine.NewSession(loam.SessionConfig{User: user, Namespace: namespace})}
}

type session struct{ *loam.Session }

func (s session) Prepare(ctx context.Context, sql string, params []types.Type) (Statement, error) {
	return prepared(s.Session.Prepare(ctx, sql, params))
}

func (s session) ScanPart(ctx context.Context, p loam.ScanPart) (*Result, error) {
	return result(s.Session.ScanPart(ctx, p))
}

type statement struct{ *loam.Statement }

func prepared(st *loam.Statement, err error) (Statement, error) {
	if err != nil {
		return nil, err
	}
	return statement{st}, nil
}

func (s statement) Bind(ctx context.Context, values []vec.Value) (Statement, error) {
	return prepared(s.Statement.Bind(ctx, values))
}

func (s statement) Execute(ctx context.Context) (*Result, error) {
	return result(s.Statement.Execute(ctx))
}

func (s statement) ExecutePinned(ctx context.Context, p loam.Pin) (*Result, error) {
	return result(s.Statement.ExecutePinned(ctx, p))
}

func result(r *loam.Result, err error) (*Result, error) {
	if err != nil {
		return nil, err
	}
	return &Result{Columns: r.Columns, Affected: r.Affected, Token: r.Token, Note: r.Note, QueryID: r.QueryID, Rows: r}, nil
}
