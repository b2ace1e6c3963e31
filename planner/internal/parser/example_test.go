package parser_test

import (
	"errors"
	"fmt"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/planner/internal/ast"
	"github.com/loamdb/loam/planner/internal/parser"
)

func ExampleParseOne() {
	stmt, err := parser.ParseOne("SELECT title FROM docs WHERE year > 2000;")
	if err != nil {
		fmt.Println(err)
		return
	}
	ast.Inspect(stmt, func(n ast.Node) bool {
		if t, ok := n.(*ast.TableName); ok {
			fmt.Println(t.Name, "at byte", t.Pos())
		}
		return true
	})
	// Output: docs at byte 18
}

func ExampleParse_error() {
	const sql = "SELECT title FORM docs"
	_, err := parser.Parse(sql)
	var e *fail.Error
	if errors.As(err, &e) {
		fmt.Println(fail.Render(e, sql))
	}
	// Output:
	// ERROR 42601: expected a comma, FROM or the end of the query, found "docs"
	// LINE 1, COLUMN 19:
	//   SELECT title FORM docs
	//                     ^
	// HINT: Did you mean FROM instead of FORM?
}
