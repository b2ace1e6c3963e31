package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
)

// logConfig says what is logged, and how.
type logConfig struct {
	level  slog.Level
	format logFormat
}

// logFormat is text, json or auto; empty is auto.
type logFormat string

// String is the format's name.
func (f *logFormat) String() string {
	if f == nil || *f == "" {
		return "auto"
	}
	return string(*f)
}

// Set takes one of the three names.
func (f *logFormat) Set(v string) error {
	switch v {
	case "text", "json", "auto":
		*f = logFormat(v)
		return nil
	}
	return fmt.Errorf("it takes text, json or auto")
}

// install makes the process log to w: lines that a person reads on a terminal, JSON
// for a collector otherwise.
func (c logConfig) install(w *os.File) {
	slog.SetDefault(slog.New(c.handler(w, isTerminal(w))))
}

func (c logConfig) handler(w io.Writer, terminal bool) slog.Handler {
	o := &slog.HandlerOptions{Level: c.level}
	if c.format == "json" || c.format != "text" && !terminal {
		return slog.NewJSONHandler(w, o)
	}
	return slog.NewTextHandler(w, o)
}

// isTerminal reports whether f is a device that shows text to a person.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
