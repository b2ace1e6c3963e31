// Package enginetest is an engine that answers what a test says: slow, huge,
// refusing or panicking results that no sound engine gives on demand.
//
// In: answers by SQL text. Out: an engine.Engine. For tests only. It imports
// engine and the values that cross its border.
package enginetest
