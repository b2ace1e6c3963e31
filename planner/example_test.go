package planner_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/loamdb/loam/functions"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/planner"
)

// A statement is prepared once and bound to the values of its parameters each time it runs.
func Example() {
	p := planner.New(testCatalog(), functions.Default())
	prepared, err := p.Prepare(context.Background(), planner.Session{Namespace: "public"},
		"SELECT id, _score FROM vector_search(docs, ?) WHERE lang = ? LIMIT 5", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(prepared[0].Params)
	bound, err := planner.BindParams(prepared[0], []vec.Value{vec.VectorValue([]float32{1, 2, 3}), vec.Text("en")})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(strings.Join(plan.ExplainText(bound.Statement.(*plan.Query).Root), "\n"))
	// Output:
	// [VECTOR(3) TEXT]
	// Project [id, _score]
	//   Limit count=5
	//     SearchScan public.docs vector(emb metric=cosine query=[1, 2, 3] top=5) columns=[id, lang, _score] filter=(lang = 'en') limit=5
}
