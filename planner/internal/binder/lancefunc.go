package binder

import (
	"math/big"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/planner/internal/ast"
)

// lanceScan is read_lance('path' [, version => n | tag => 't']).
func (b *Binder) lanceScan(call *ast.FuncCall) (plan.Node, error) {
	if b.env.Files == nil {
		return nil, b.fail(fail.PermissionDenied, call.Pos(), "files cannot be read here").
			WithHint("The operator allows directories with --allow-files.")
	}
	args, err := b.match(&signature{name: "read_lance", positional: []string{"path"}, named: []string{"version", "tag"}, later: []string{"filter", "columns", "limit"}}, call)
	if err != nil {
		return nil, err
	}
	paths, err := args.texts("path")
	if err != nil {
		return nil, err
	}
	if len(paths) != 1 {
		return nil, b.fail(fail.UndefinedFunction, call.Pos(), "read_lance takes the path of one dataset").
			WithHint("Write read_lance('dir/name.lance'); join several with UNION ALL.")
	}
	scan := &plan.FileScan{Format: plan.Lance, Paths: paths}
	if scan.Version, err = args.lanceVersion(); err != nil {
		return nil, err
	}
	tag, tagged, err := args.value("tag", types.Of(types.Text))
	if err != nil {
		return nil, err
	}
	if tagged && scan.Version != 0 {
		return nil, b.fail(fail.Syntax, args.named["tag"].Pos(), "read_lance takes a version or a tag, not both")
	}
	if tagged && tag.Str == "" {
		return nil, b.fail(fail.InvalidParameter, args.named["tag"].Pos(), "the tag of read_lance is empty")
	}
	scan.Tag = tag.Str
	return b.scanFiles(scan, call)
}

// lanceVersion is the argument version, or 0. Detached versions have 64 bits;
// clients with signed numbers write them negative.
func (a *callArgs) lanceVersion() (uint64, error) {
	v, ok, err := a.value("version", types.DecimalOf(20, 0))
	if !ok || err != nil {
		return 0, err
	}
	n := v.Dec.BigInt()
	if n.Sign() < 0 {
		n = new(big.Int).Add(n, new(big.Int).Lsh(big.NewInt(1), 64))
		if n.IsUint64() && n.Uint64()>>63 == 0 {
			n = big.NewInt(0)
		}
	}
	if !n.IsUint64() || n.Sign() <= 0 {
		return 0, a.b.fail(fail.InvalidParameter, a.named["version"].Pos(), "a Lance dataset has no version %s", v).
			WithHint("Versions count from 1; leave the version out to read the latest.")
	}
	return n.Uint64(), nil
}
